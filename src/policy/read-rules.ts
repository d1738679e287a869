import type { YamlEntry, YamlNode } from '../base/index.ts';
import { VERDICTS } from './policy.ts';
import type { Faults } from './read-node.ts';
import { readWhen } from './read-when.ts';
import { ANYTHING, ASKS, type Rule, type When } from './rules.ts';

const MAX_RULES = 500;
const MAX_NAME = 64;
const MAX_WHY = 300;
const KEYS = ['name', 'when', 'verdict', 'ask', 'why', 'expires'] as const;
type Fields = Map<string, YamlEntry>;

export function readRules(node: YamlNode, faults: Faults): Rule[] {
  if (node.kind !== 'list') {
    faults.add(node.at, 'rules is not a list', 'Begin each rule with "- name:".');
    return [];
  }
  if (node.items.length > MAX_RULES) {
    faults.add(node.at, `there are ${node.items.length} rules`, `At most ${MAX_RULES} are taken.`);
    return [];
  }
  const names = new Set<string>();
  return node.items.flatMap(item => {
    const rule = readRule(item, faults);
    if (rule === null) return [];
    if (names.has(rule.name)) faults.add(item.at, `two rules are called "${rule.name}"`, 'Give each its own name.');
    names.add(rule.name);
    return [rule];
  });
}

function readRule(node: YamlNode, faults: Faults): Rule | null {
  const fields = faults.fields(node, 'a rule', KEYS);
  const name = required(fields, 'name', node, faults, value => faults.text(value, 'name', MAX_NAME));
  const verdict = required(fields, 'verdict', node, faults, value => faults.word(value, 'verdict', VERDICTS));
  const when = required(fields, 'when', node, faults, value => readWhen(value, faults));
  const why = fields.get('why');
  const ask = fields.get('ask');
  const expires = fields.get('expires');
  if (ask !== undefined && verdict !== 'ask') {
    faults.add(ask.keyAt, '"ask" says how a rule asks, and this one does not', 'Remove it, or write verdict: ask.');
  }
  if (verdict === 'allow' && when !== null && isEmpty(when)) {
    const hint = 'Name at least one; trust: [bundled, user, untrusted] is every skill.';
    faults.add(node.at, 'a rule that allows has no condition', hint);
  }
  if (name === null || verdict === null || when === null) return null;
  return {
    name,
    when,
    verdict,
    ask: (ask === undefined ? null : faults.word(ask.node, 'ask', ASKS)) ?? 'each-run',
    why: (why === undefined ? null : faults.text(why.node, 'why', MAX_WHY)) ?? `The rule "${name}" speaks about it.`,
    expiresAt: expires === undefined ? null : readExpiry(expires.node, faults),
  };
}

function required<T>(
  fields: Fields,
  key: (typeof KEYS)[number],
  rule: YamlNode,
  faults: Faults,
  read: (node: YamlNode) => T | null,
): T | null {
  const entry = fields.get(key);
  if (entry !== undefined) return read(entry.node);
  if (rule.kind === 'map') faults.add(rule.at, `a rule has no "${key}"`, 'A rule has a name, a when and a verdict.');
  return null;
}

function isEmpty(when: When): boolean {
  return (Object.keys(ANYTHING) as (keyof When)[]).every(key => when[key] === null);
}

/** From the first moment of that day in UTC, or from that moment on, the rule is silent. */
function readExpiry(node: YamlNode, faults: Faults): number | null {
  const text = node.kind === 'scalar' ? node.text : '';
  const form = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?Z)?$/.test(text);
  const at = form ? Date.parse(text) : Number.NaN;
  // A day that no month has would be read as one of the next.
  const real = !Number.isNaN(at) && new Date(at).toISOString().startsWith(text.slice(0, 10));
  return real ? at : faults.add(node.at, 'expires is no date', 'Write 2027-01-31 or 2027-01-31T18:00Z.');
}
