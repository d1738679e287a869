import type { Findings, Place, Skill } from '../skill/index.ts';
import type { Fields } from './frontmatter.ts';
import type { YamlNode } from './yaml.ts';

/** Clients whose extra rules are known. A rule stands here only with evidence: a document, a source file or an error text. */
export const TARGETS = ['spec', 'claude', 'codex', 'gemini', 'vscode'] as const;
export type Target = (typeof TARGETS)[number];

export type TargetContext = {
  folderName: string | null;
  documentPath: string;
  fields: Fields | null;
  skill: Skill | null;
  place: (key: string) => Place;
};

type Report = (key: string, message: string) => void;
type Rule = (context: TargetContext, report: Report) => void;

/** Adds what the named client requires beyond the format. */
export function checkTarget(target: Target, context: TargetContext, findings: Findings): void {
  const report: Report = (key, message) => findings.report(`target-${target}`, context.place(key), message);
  for (const rule of RULES[target]) rule(context, report);
}

// agentskills.io/specification, "Frontmatter"; ALLOWED_FIELDS in skills-ref/validator.py; ALLOWED_PROPERTIES in
// skill-creator/quick_validate.py (anthropics/skills).
const SPEC_FIELDS = ['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools'];
// skillAttributes in promptFileAttributes.ts (microsoft/vscode).
const VSCODE_FIELDS = [
  'name',
  'description',
  'argument-hint',
  'user-invocable',
  'disable-model-invocation',
  'license',
  'compatibility',
  'metadata',
  'context',
];

const RULES: Record<Target, readonly Rule[]> = {
  spec: [
    // _validate_metadata_fields in skills-ref/validator.py.
    onlyFields(SPEC_FIELDS, 'the reference validator refuses'),
    // skills-ref/parser.py reads with strictyaml, which has no inline collections (googleworkspace/cli issue 521).
    ({ fields }, report) => {
      for (const field of fields?.values() ?? []) {
        if (isInline(field.node))
          report(field.key, `the reference validator refuses inline [] or {} in "${field.key}"`);
      }
    },
    // agentskills.io/specification, "metadata field": a map from strings to strings.
    ({ fields }, report) => {
      const metadata = fields?.get('metadata')?.node;
      const nested = metadata?.kind === 'map' ? metadata.entries.filter(entry => entry.node.kind !== 'scalar') : [];
      if (nested.length > 0)
        report('metadata', `the specification wants text in ${list(nested.map(entry => `metadata.${entry.key}`))}`);
    },
  ],

  claude: [
    // Case-sensitive file systems: anthropics/claude-code issue 16983.
    exactFileName('Claude Code'),
    // Platform docs, "Agent Skills overview", field requirements; error text of the upload (anthropics/skills pull 1605).
    ({ fields }, report) => {
      const word = /anthropic|claude/i.exec(textOf(fields, 'name'))?.[0];
      if (word !== undefined)
        report('name', `uploads to Claude refuse the reserved word "${word.toLowerCase()}" in a name`);
    },
    // The same page: lowercase letters, numbers and hyphens. The specification allows letters of other scripts, uploads
    // do not (anthropics/skills issue 241).
    ({ fields }, report) => {
      const name = textOf(fields, 'name');
      if (name !== '' && !/^[a-z0-9-]+$/.test(name))
        report('name', 'uploads to Claude accept only a-z, 0-9 and hyphens in a name');
    },
    // The same page: no XML tags in either; quick_validate.py refuses every angle bracket in a description.
    ({ fields }, report) => {
      if (/[<>]/.test(textOf(fields, 'name'))) report('name', 'uploads to Claude refuse XML tags in a name');
      if (/[<>]/.test(textOf(fields, 'description')))
        report('description', 'uploads to Claude refuse < and > in a description');
    },
    // The same page; anthropics/skills pull 1605 for the upload.
    longerThan('description', 1024, 'uploads to Claude refuse'),
    // Claude Code docs, "Skills", frontmatter reference: the listing shows description and when_to_use up to this length.
    ({ fields }, report) => {
      const length = lengthOf(textOf(fields, 'description')) + lengthOf(textOf(fields, 'when_to_use'));
      if (length > 1536)
        report(
          'description',
          `Claude Code shows models 1536 of the ${length} characters of description and when_to_use`,
        );
    },
    // Error text of the upload: anthropics/claude-code issue 24826; Claude Code itself reads more fields.
    onlyFields(SPEC_FIELDS, 'uploads to Claude refuse'),
    // quick_validate.py: both must be strings, and the frontmatter plain YAML.
    onlyText(['name', 'description'], 'uploads to Claude refuse'),
    onlyYaml('uploads to Claude refuse the frontmatter, and Claude Code may drop all of it'),
    // Error texts of the upload: obra/superpowers issue 1135; Orchestra-Research/AI-Research-SKILLs issue 57.
    ({ skill }, report) => {
      const inner = skill?.resources.filter(resource => /(?:^|\/)SKILL\.md$/i.test(resource.path)) ?? [];
      if (inner.length > 0)
        report(
          'name',
          `uploads to Claude must hold exactly one SKILL.md; there is also ${list(inner.map(resource => resource.path))}`,
        );
    },
    ({ skill }, report) => {
      const files = skill === null ? 0 : 1 + skill.resources.length + skill.scripts.length;
      if (files > 200) report('name', `uploads to Claude hold at most 200 files; the skill has ${files}`);
    },
  ],

  // All from core-skills/src/loader.rs (openai/codex); what it refuses it reports as "Skipped loading".
  codex: [
    exactFileName('Codex'),
    ({ folderName }, report) => {
      if (folderName?.startsWith('.'))
        report('name', `Codex looks into no folder whose name starts with a dot: ${folderName}`);
    },
    onlyYaml('Codex skips the skill'),
    onlyText(['name', 'description'], 'Codex skips a skill with'),
    longerThan('name', 64, 'Codex skips a skill with'),
    longerThan('description', 1024, 'Codex skips a skill with'),
    ({ fields }, report) => {
      const metadata = fields?.get('metadata')?.node;
      if (metadata === undefined || isNull(metadata)) return;
      if (metadata.kind !== 'map')
        return report('metadata', `Codex skips a skill whose metadata is a ${metadata.kind}`);
      const short = metadata.entries.find(entry => entry.key === 'short-description')?.node;
      if (short === undefined || isNull(short)) return;
      if (short.kind !== 'scalar' || typeof short.value !== 'string')
        report('metadata', 'Codex skips a skill whose metadata.short-description is no text');
      else if (lengthOf(short.value) > 1024)
        report('metadata', 'Codex skips a skill whose metadata.short-description is over 1024 characters');
    },
  ],

  // All from packages/core/src/skills/skillLoader.ts (google-gemini/gemini-cli).
  gemini: [
    exactFileName('Gemini CLI'),
    ({ fields }, report) => {
      if (fields !== null && textOf(fields, 'name') === '') report('name', 'Gemini CLI ignores a skill without a name');
    },
    ({ fields }, report) => {
      const name = textOf(fields, 'name');
      const used = name.replace(/[:\\/<>*?"|]/g, '-');
      if (used !== name) report('name', `Gemini CLI calls the skill "${used}"`);
    },
  ],

  vscode: [
    // computeSkillDiscoveryInfo in promptsServiceImpl.ts (microsoft/vscode).
    ({ fields, folderName }, report) => {
      const name = textOf(fields, 'name');
      if (name !== '' && folderName !== null && name !== folderName)
        report('name', `VS Code calls the skill "${folderName}", after its folder`);
    },
    // VALID_SKILL_NAME_REGEX in promptFileLocations.ts, an error in the editor.
    ({ fields }, report) => {
      const name = textOf(fields, 'name');
      if (name !== '' && !/^[a-z0-9-]+$/.test(name))
        report('name', 'VS Code accepts only a-z, 0-9 and hyphens in a name');
    },
    // sanitizeAgentSkillText and the truncations beside it in promptsServiceImpl.ts.
    ({ fields }, report) => {
      for (const key of ['name', 'description']) {
        const tag = /<[^>]+>/.exec(textOf(fields, key))?.[0];
        if (tag !== undefined) report(key, `VS Code removes ${tag.slice(0, 40)} from the ${key}`);
      }
    },
    longerThan('name', 64, 'VS Code cuts'),
    longerThan('description', 1024, 'VS Code cuts'),
    onlyFields(VSCODE_FIELDS, 'VS Code does not read'),
    // A scalar in promptFileAttributes.ts; Copilot CLI 1.0.65 drops the skill (yonatangross/orchestkit pull 2864).
    ({ fields }, report) => {
      const hint = fields?.get('argument-hint')?.node;
      if (hint !== undefined && hint.kind !== 'scalar')
        report('argument-hint', `Copilot drops a skill whose argument-hint is a ${hint.kind}; put it in quotes`);
    },
  ],
};

function exactFileName(client: string): Rule {
  return ({ documentPath }, report) => {
    if (documentPath !== 'SKILL.md')
      report('name', `${client} finds only SKILL.md, not ${documentPath}, where case counts`);
  };
}

function onlyFields(known: readonly string[], verdict: string): Rule {
  return ({ fields }, report) => {
    const others = [...(fields?.keys() ?? [])].filter(key => !known.includes(key));
    const first = others[0];
    if (first !== undefined) report(first, `${verdict} ${list(others)}`);
  };
}

/** YAML reads `name: 2024` as a number and `name: true` as a boolean. */
function onlyText(keys: readonly string[], verdict: string): Rule {
  return ({ fields }, report) => {
    for (const key of keys) {
      const node = fields?.get(key)?.node;
      if (node === undefined || isNull(node) || (node.kind === 'scalar' && typeof node.value === 'string')) continue;
      report(
        key,
        `${verdict} a ${key} that is a ${node.kind === 'scalar' ? typeof node.value : node.kind}; put it in quotes`,
      );
    }
  };
}

function onlyYaml(verdict: string): Rule {
  return ({ fields }, report) => {
    const repaired = [...(fields?.values() ?? [])].filter(field => field.repaired).map(field => field.key);
    const first = repaired[0];
    if (first !== undefined) report(first, `${verdict}: ${list(repaired)} could only be read by repair`);
  };
}

function longerThan(key: string, max: number, verdict: string): Rule {
  return ({ fields }, report) => {
    const length = lengthOf(textOf(fields, key).replace(/\s+/g, ' '));
    if (length > max) report(key, `${verdict} a ${key} over ${max} characters; this one has ${length}`);
  };
}

/** Whether it is, or holds, `[a]` or `{a: b}`: a block collection starts with its first key or with a dash. */
function isInline(node: YamlNode): boolean {
  if (node.kind === 'scalar') return false;
  if (node.kind === 'map') {
    const first = node.entries[0];
    return first === undefined || first.keyAt > node.at || node.entries.some(entry => isInline(entry.node));
  }
  const first = node.items[0];
  return first === undefined || first.at === node.at + 1 || node.items.some(isInline);
}

function isNull(node: YamlNode): boolean {
  return node.kind === 'scalar' && node.plain && node.value === null;
}

function textOf(fields: Fields | null, key: string): string {
  const node = fields?.get(key)?.node;
  return node?.kind === 'scalar' && !isNull(node) ? node.text.trim() : '';
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}

function list(names: readonly string[]): string {
  const shown = names.slice(0, 8).map(name => `"${name.slice(0, 60)}"`);
  return names.length > shown.length ? `${shown.join(', ')} and ${names.length - shown.length} more` : shown.join(', ');
}
