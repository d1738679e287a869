import {
  findHidden,
  parseDuration,
  parseYaml,
  renderCodePoint,
  type YamlNode,
  type YamlProblem,
} from '../base/index.ts';
import { MOST, SHIPPED } from './defaults.ts';
import { GUARANTEE_NAMES, type GuaranteeName, isBelow, LEVEL_NAMES, type LevelName } from './levels.ts';
import { ANSWERS, type Answer, CHANNELS, type Channel } from './policy.ts';
import { Faults, type PolicyDiagnostic } from './read-node.ts';
import { readRules } from './read-rules.ts';
import type { Policy } from './rules.ts';

/** Whose file it is. A project's may only tighten. */
export const SCOPES = ['user', 'project'] as const;
export type Scope = (typeof SCOPES)[number];

export type PolicyReading = { policy: Policy; diagnostics: PolicyDiagnostic[] };

export const MAX_POLICY_BYTES = 64 * 1024;
const DAY_MS = 86_400_000;
const KEYS = ['version', 'rules', 'approvals', 'least', 'lower', 'strict'] as const;

/** Never throws. With any fault the policy is one that denies everything and says why. */
export function readPolicy(text: string, source: string, scope: Scope): PolicyReading {
  const plain = text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n');
  const faults = new Faults(plain, source);
  const policy = readDocument(plain, source, scope, faults);
  const diagnostics = faults.list.toSorted((a, b) => a.line - b.line || a.column - b.column);
  const [first] = diagnostics;
  if (first === undefined) return { policy, diagnostics };
  return { policy: unusablePolicy(source, `line ${first.line}: ${first.message}.`), diagnostics };
}

/** What stands for a file that cannot be used. */
export function unusablePolicy(source: string, fault: string): Policy {
  return { ...emptyPolicy(source), fault };
}

function emptyPolicy(source: string): Policy {
  return {
    source,
    rules: [],
    approvals: new Map(),
    alwaysMs: null,
    least: new Map(),
    lowered: new Map(),
    strict: false,
    fault: null,
  };
}

function readDocument(text: string, source: string, scope: Scope, faults: Faults): Policy {
  const node = parse(text, faults);
  if (node === null) return emptyPolicy(source);
  const fields = faults.fields(node, 'the policy', KEYS);
  const field = (key: (typeof KEYS)[number]): YamlNode | null => fields.get(key)?.node ?? null;
  const version = field('version');
  if (version?.kind !== 'scalar' || version.value !== 1) {
    faults.add(version?.at ?? 0, 'the policy does not say "version: 1"', 'Write version: 1 as its first line.');
  }
  const [rules, approvals, least, lower, strict] = (['rules', 'approvals', 'least', 'lower', 'strict'] as const).map(
    field,
  );
  return {
    ...emptyPolicy(source),
    rules: rules ? readRules(rules, faults) : [],
    ...(approvals ? readApprovals(approvals, faults) : {}),
    least: least ? readLevels(least, 'least', faults) : new Map(),
    lowered: lower ? readLowered(lower, scope, faults) : new Map(),
    strict: strict ? (faults.flag(strict, 'strict') ?? false) : false,
  };
}

/** X-04's guards: no alias, tag, second document, double key or hidden character, and a limit on size and depth. */
function parse(text: string, faults: Faults): YamlNode | null {
  if (Buffer.byteLength(text) > MAX_POLICY_BYTES) {
    return faults.add(0, `the policy has more than ${MAX_POLICY_BYTES} bytes`, 'Use patterns instead of long lists.');
  }
  const hidden = findHidden(text);
  if (hidden !== null) {
    const hint = 'Remove it: what you read must be what is meant.';
    return faults.add(hidden.index, `${renderCodePoint(hidden.codePoint)} cannot be seen`, hint);
  }
  const { node, problems } = parseYaml(text, 0);
  for (const problem of problems)
    faults.add(problem.at, faultOf(problem), 'Write plain YAML 1.2: mappings, lists and values.');
  if (problems.length > 0) return null;
  return node ?? faults.add(0, 'the policy is empty', 'Write version: 1, or remove the file.');
}

/** What others repair or ignore is a fault here. */
function faultOf({ code, message }: YamlProblem): string {
  if (code === 'yaml-multiple-documents') return 'a second document begins here';
  return code === 'yaml-duplicate-key' ? message.replace(/;.*$/s, '') : message;
}

function readApprovals(node: YamlNode, faults: Faults): Pick<Policy, 'approvals' | 'alwaysMs'> {
  const fields = faults.fields(node, 'approvals', [...CHANNELS, 'alwaysLasts']);
  const approvals = new Map<Channel, readonly Answer[]>();
  for (const channel of CHANNELS) {
    const entry = fields.get(channel);
    if (entry !== undefined) approvals.set(channel, readAnswers(entry.node, channel, faults));
  }
  const lasts = fields.get('alwaysLasts')?.node;
  return { approvals, alwaysMs: lasts === undefined ? null : readLasting(lasts, faults) };
}

/** An empty list is the way to close a channel. */
function readAnswers(node: YamlNode, channel: Channel, faults: Faults): Answer[] {
  if (node.kind === 'list' && node.items.length === 0) return [];
  return faults.items(node, channel, ANSWERS.length).flatMap(item => {
    const answer = faults.word(item, channel, ANSWERS);
    if (answer === null) return [];
    if (MOST[channel].includes(answer)) return [answer];
    const hint = `An agent can drive it; it can be given ${MOST[channel].join(', ')}.`;
    faults.add(item.at, `${channel} cannot be given "${answer}"`, hint);
    return [];
  });
}

function readLasting(node: YamlNode, faults: Faults): number | null {
  const text = node.kind === 'scalar' ? node.text : '';
  const days = /^([1-9]\d{0,4})d$/.exec(text)?.[1];
  const ms = days === undefined ? (/[a-z]$/.test(text) ? parseDuration(text) : null) : Number(days) * DAY_MS;
  return ms ?? faults.add(node.at, `alwaysLasts is no duration`, 'Write 30d, 12h or 90m.');
}

function readLevels(node: YamlNode, what: string, faults: Faults): Map<GuaranteeName, LevelName> {
  const levels = new Map<GuaranteeName, LevelName>();
  const fields = faults.fields(node, what, GUARANTEE_NAMES);
  for (const guarantee of GUARANTEE_NAMES) {
    const entry = fields.get(guarantee);
    const level = entry === undefined ? null : faults.word(entry.node, guarantee, LEVEL_NAMES);
    if (entry === undefined || level === null) continue;
    const shipped = shippedLevel(guarantee);
    if (what === 'least' && isBelow(level, shipped)) {
      faults.add(entry.node.at, `${guarantee}: ${level} is less than the ${shipped} that is required`, LOWER_HINT);
    } else levels.set(guarantee, level);
  }
  return levels;
}

const LOWER_HINT = 'To require less, say so under "lower:" in your own policy; a project cannot.';

function readLowered(node: YamlNode, scope: Scope, faults: Faults): Map<GuaranteeName, LevelName> {
  if (scope === 'user') return readLevels(node, 'lower', faults);
  faults.add(node.at, 'a project lowers what the sandbox must hold', 'A project may only tighten; remove "lower:".');
  return new Map();
}

function shippedLevel(guarantee: GuaranteeName): LevelName {
  return new Map<GuaranteeName, LevelName>(SHIPPED.least).get(guarantee) ?? 'none';
}
