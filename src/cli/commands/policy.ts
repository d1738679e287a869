import { join, relative, resolve } from 'node:path';
import {
  checkPolicy,
  describeExplained,
  type Explained,
  POLICY_SCOPES,
  type Policies,
  type PolicyScope,
} from '../../app.ts';
import { EXIT, renderDuration, SkillboxError, visible, visibleLine } from '../../base/index.ts';
import { configDirectory } from '../../config/index.ts';
import { readSkill } from '../../dialects/index.ts';
import { openFolder, type Skill } from '../../skill/index.ts';
import { type Command, columns, type Input, type Option } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import type { Io } from '../io.ts';
import { workspaceFor } from '../run-request.ts';
import { placeOfSkill } from '../skill-place.ts';

const JSON_OPTION: Option = { help: 'print one JSON document' };

export const policyCheck: Command = {
  name: 'policy check',
  summary: 'Check a policy file.',
  args: [{ name: 'FILE', help: 'a policy file', required: true, many: false }],
  options: {
    as: {
      help: 'whose file it is (project for .skillbox/policy.yaml, else user)',
      value: 'WHOSE',
      choices: POLICY_SCOPES,
    },
    json: JSON_OPTION,
  },
  examples: ['skillbox policy check .skillbox/policy.yaml'],
  run: async (input, io) => {
    const path = resolve(io.cwd, input.args[0] ?? '');
    const checked = checkPolicy(path, input.value('as') as PolicyScope | null);
    if (checked === null) throw new SkillboxError('NOT_FOUND', `there is no ${input.args[0] ?? ''}`);
    const { scope, diagnostics } = checked;
    if (input.flag('json')) {
      io.out(`${JSON.stringify({ file: path, scope, ok: diagnostics.length === 0, diagnostics }, null, 2)}\n`);
    } else if (diagnostics.length === 0) io.out(`a valid policy (${scope})\n`);
    else {
      const name = visibleLine(relative(io.cwd, path) || path);
      for (const { line, column, message, hint } of diagnostics) {
        io.out(`${name}:${line}:${column}: ${io.paint('red', 'error')}: ${visible(message)}\n`);
        io.out(`    ${io.paint('dim', 'hint:')} ${visible(hint)}\n`);
      }
    }
    return diagnostics.length === 0 ? EXIT.ok : EXIT.usage;
  },
};

export const policyExplain: Command = {
  name: 'policy explain',
  summary: 'Say which rule decides about a skill, and why. Nothing is run.',
  args: [
    { name: 'SKILL', help: 'a folder or a zip', required: true, many: false },
    { name: 'TOOL|SCRIPT', help: 'one tool or script instead of all', required: false, many: false },
  ],
  options: {
    workspace: { help: 'the directory that it would work in', value: 'DIR' },
    sandbox: {
      help: 'the sandbox that it would run in',
      value: 'S',
      choices: ['bubblewrap', 'docker', 'process'],
    },
    json: JSON_OPTION,
  },
  examples: ['skillbox policy explain examples/gibberish/git git_log'],
  run: explain,
};

async function explain(input: Input, io: Io): Promise<number> {
  const folder = await openFolder(await placeOfSkill(input.args[0] ?? '.', io));
  try {
    const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
    if (skill === null) throw new SkillboxError('INVALID_SKILL', 'the skill cannot be read');
    return await withSkillbox(
      io,
      async skillbox => {
        const workspace = workspaceFor(skill, input.value('workspace'), io.cwd);
        const explained = await skillbox.explain({ skill, folder, target: input.args[1] ?? null, workspace });
        io.out(
          input.flag('json')
            ? `${JSON.stringify(describeExplained(skill, explained), null, 2)}\n`
            : render(skill, explained),
        );
        return EXIT.ok;
      },
      { sandbox: input.value('sandbox') },
    );
  } finally {
    folder.close();
  }
}

function render(skill: Skill, { vouched, terms, targets }: Explained): string {
  const lines = [`${skill.name} (${skill.dialect})`, `trust: ${vouched.trust}. ${vouched.why}`];
  if (targets.length === 0) lines.push('It has nothing to run: instructions only.');
  for (const { request, beyond, decision } of targets) {
    const { rule, verdict, reasons, answers } = decision;
    lines.push('', `${request.target.name}: ${verdict}`);
    const rows: [string, string][] = [
      ['rule', `${rule.name} (${placeOf(rule)})`],
      ['why', reasons[0] ?? ''],
      ['would have', renderGrant(request.grant)],
      ['beyond least power', beyond.length === 0 ? 'nothing' : beyond.join(' ')],
      ...[...answers].map(([channel, given], index): [string, string] => [
        index === 0 ? 'who may answer' : '',
        `${channel}: ${given.join(', ')}`,
      ]),
    ];
    lines.push(...columns(rows));
  }
  lines.push('', `"always" lasts ${renderLasting(terms.alwaysMs)}.`);
  return `${lines.map(visible).join('\n')}\n`;
}

function placeOf({ source, index }: { source: string; index: number }): string {
  const where = source === 'default' ? 'shipped' : source;
  return index < 0 ? where : `${where}, rule ${index + 1}`;
}

function renderGrant({
  network,
  secrets,
  workspace,
  paths,
  isolated,
}: Explained['targets'][number]['request']['grant']) {
  const place = ({ path, writable }: { path: string; writable: boolean }) => `${path}${writable ? ' (writable)' : ''}`;
  return [
    `network ${network.kind === 'hosts' ? network.hosts.join(' ') : network.kind}`,
    `secrets ${secrets.join(' ') || 'none'}`,
    `workspace ${workspace === null ? 'private' : place(workspace)}`,
    ...(paths.length === 0 ? [] : [`paths ${paths.map(place).join(' ')}`]),
    isolated ? 'isolated' : 'NOT isolated',
  ].join(', ');
}

function renderLasting(ms: number): string {
  const days = ms / 86_400_000;
  return Number.isInteger(days) ? `${days} day${days === 1 ? '' : 's'}` : renderDuration(ms);
}

export const policyShow: Command = {
  name: 'policy show',
  summary: 'Show the rules in force here, in the order in which they are asked.',
  args: [],
  options: { json: JSON_OPTION },
  examples: [],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const policies = skillbox.policies(null);
      const files = [...policies.projects, ...(policies.user === null ? [] : [policies.user]), policies.shipped];
      if (input.flag('json')) {
        const shown = files.map(({ source, fault, rules, strict }) => ({
          source,
          fault,
          strict,
          rules: rules.map(({ name, verdict, ask, why }) => ({
            name,
            verdict,
            ...(verdict === 'ask' ? { ask } : {}),
            why,
          })),
        }));
        io.out(`${JSON.stringify({ policies: shown }, null, 2)}\n`);
      } else io.out(renderFiles(files, policies, configDirectory(io.env) ?? '$SKILLBOX_CONFIG_DIR'));
      return EXIT.ok;
    }),
};

function renderFiles(files: readonly Policies['shipped'][], { user, projects }: Policies, directory: string): string {
  const lines: string[] = [];
  for (const policy of files) {
    const { source, fault, rules } = policy;
    const note = projects.includes(policy) ? ' (may only tighten)' : '';
    lines.push(`${source === 'default' ? 'shipped' : source}${note}`);
    if (fault !== null) lines.push(`  cannot be used, so nothing runs: ${fault}`);
    const rows = rules.map(({ name, verdict, ask, why }): [string, string] => [
      name,
      `${verdict === 'ask' ? `ask, ${ask}` : verdict}: ${why}`,
    ]);
    if (rows.length > 0) lines.push(...columns(rows));
  }
  if (user === null) lines.push(`You have no policy of your own; it would be ${join(directory, 'policy.yaml')}.`);
  return `${lines.map(visible).join('\n')}\n`;
}
