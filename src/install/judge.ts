import { partsOfRepositories, SkillboxError, visibleLine } from '../base/index.ts';
import { type Finding, type NotLookedInto, scanSkill } from '../scan/index.ts';
import type { Diagnostic, DiagnosticCode, Folder, Skill } from '../skill/index.ts';
import { checkInstallName } from './lock-file.ts';
import type { Loaded } from './obtain.ts';

/** What a person should know of a skill before it is installed. */
export type Judged = {
  skill: Skill;
  diagnostics: Diagnostic[];
  /** What it asks for and what an agent would act on, as sentences. */
  asks: string[];
  findings: Finding[];
  notLookedInto: NotLookedInto[];
};

/** These are no skill's business, and an agent that reads the folder itself would follow them. */
const REFUSED: ReadonlySet<DiagnosticCode> = new Set([
  'folder-link-outside',
  'folder-special-file',
  'folder-name-unsafe',
  'folder-name-collision',
  'folder-too-large',
  'folder-unreadable',
]);

/** Refuses what must not be installed; everything else is told. `nested`: the user wants the skills inside it as well. */
export function judgeSkill({ content, reading, folder }: Loaded, nested: boolean): Judged {
  const { skill, diagnostics } = reading;
  const shown = visibleLine(skill?.name ?? (folder === '' ? (content.name ?? 'the skill') : folder), 80);
  const refused = content.problems.filter(({ code }) => REFUSED.has(code));
  if (refused.length > 0) {
    throw refuse(
      `${shown} is refused: ${refused
        .map(({ message }) => message.replace(/; it is left out$/, ''))
        .slice(0, 3)
        .join('; ')}`,
      refused,
    );
  }
  // Threat: whoever goes there and asks git for anything executes what its config names.
  const [part] = partsOfRepositories(
    content.files.map(({ path }) => path),
    () => [],
  );
  if (part !== undefined)
    throw refuse(`${shown} is refused: with ${visibleLine(part, 80)} a folder of it is a repository to git`, []);
  if (skill === null) {
    const errors = diagnostics.filter(({ severity }) => severity === 'error');
    throw refuse(`${shown} does not load: ${errors[0]?.message ?? 'it is no skill'}`, errors);
  }
  try {
    // Threat: the name becomes a path, here and in every agent's directory.
    checkInstallName(skill.name);
  } catch (cause) {
    if (!(cause instanceof SkillboxError)) throw cause;
    throw refuse(`"${shown}" cannot be installed: ${cause.message}`, []);
  }
  const inner = diagnostics.filter(({ code }) => code === 'nested-skill');
  if (inner.length > 0 && !nested) {
    const paths = inner.map(({ file }) => file).slice(0, 3);
    throw new SkillboxError('INSTALL_REFUSED', `${shown} holds further skills that nobody chose: ${paths.join(', ')}`, {
      hint: 'Agents that search deeper would offer them too. Read them; --nested installs them with it.',
      details: { files: paths },
    });
  }
  const { findings, notLookedInto } = scanSkill(content, skill);
  return { skill, diagnostics, asks: asksOf(skill, content), findings, notLookedInto };
}

function refuse(message: string, diagnostics: readonly Diagnostic[]): SkillboxError {
  const reasons = diagnostics
    .slice(0, 20)
    .map(({ code, file, line, message: what }) => ({ code, file, line, message: what }));
  return new SkillboxError('INSTALL_REFUSED', message, { details: { reasons } });
}

/** Where a program is expected. */
const PROGRAM_PLACE = /^(?:scripts|bin)\//;

function asksOf(skill: Skill, content: Folder): string[] {
  const { needs, main, tools, scripts, extra } = skill;
  const asks: string[] = [];
  const list = (words: readonly string[]) =>
    `${words
      .slice(0, 8)
      .map(word => visibleLine(word, 80))
      .join(', ')}${words.length > 8 ? ` and ${words.length - 8} more` : ''}`;
  if (main !== null) asks.push(`runs ${visibleLine(main.path, 80)}`);
  if (tools.length > 0) asks.push(`tools: ${list(tools.map(({ name }) => name))}`);
  if (scripts.length > 0) asks.push(`scripts: ${list(scripts.map(({ path }) => path))}`);
  if (needs.network === 'open') asks.push('the network, without naming hosts');
  if (needs.network === 'broker') asks.push('the secrets broker');
  if (needs.secrets.length > 0) asks.push(`secrets: ${list(needs.secrets)}`);
  if (needs.image !== null) asks.push(`the image ${visibleLine(needs.image, 80)}`);
  if (needs.allowedTools.length > 0) {
    const patterns = needs.allowedTools.map(({ tool, pattern }) => (pattern === null ? tool : `${tool}(${pattern})`));
    asks.push(`tools of the agent without a question: ${list(patterns)}`);
  }
  // Some agents run these commands themselves, outside every sandbox.
  if (Object.hasOwn(extra, 'hooks'))
    asks.push('hooks: commands that some agents run on their own, outside the sandbox');
  const odd = content.files.filter(({ path, executable }) => executable && !PROGRAM_PLACE.test(path));
  if (odd.length > 0) asks.push(`executables outside scripts/: ${list(odd.map(({ path }) => path))}`);
  return asks;
}
