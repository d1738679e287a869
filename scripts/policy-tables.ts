// The tables of docs/policy.md, made by asking the code: the shipped rules, and what they come to.
import {
  CHANNELS,
  type Decision,
  decide,
  type Grant,
  type History,
  MOST,
  type Request,
  type Rule,
  SHIPPED,
  TRUST_LEVELS,
  type When,
} from '../src/policy/index.ts';

const FIRST: History = { approvedBefore: false, always: false, denied: false };
const HISTORIES: History[] = [
  FIRST,
  { ...FIRST, approvedBefore: true },
  { ...FIRST, approvedBefore: true, always: true },
];
const LEAST: Grant = {
  network: { kind: 'none' },
  secrets: [],
  workspace: { path: '/workspace', writable: true },
  paths: [],
  isolated: true,
};
const REQUEST: Request = {
  trust: 'user',
  dialect: 'skillbox',
  skill: { name: 'x', version: null, digest: '' },
  publisher: null,
  target: { kind: 'main', name: 'x' },
  readOnly: false,
  alwaysAsk: false,
  grant: LEAST,
};

type Wish = { what: string; request: Partial<Request> };
const tool = (readOnly: boolean): Partial<Request> => ({
  dialect: 'gibberish',
  target: { kind: 'tool', name: 'x' },
  readOnly,
});
const granting = (grant: Partial<Grant>): Partial<Request> => ({ grant: { ...LEAST, ...grant } });
const WISHES: Wish[] = [
  { what: 'gibberish tool, `read_only`', request: tool(true) },
  { what: 'gibberish tool that may write', request: tool(false) },
  {
    what: 'gibberish tool, `read_only`, with network',
    request: { ...tool(true), ...granting({ network: { kind: 'public' } }) },
  },
  { what: 'any other dialect, least power', request: {} },
  { what: '… with network', request: granting({ network: { kind: 'public' } }) },
  { what: '… with secrets', request: granting({ network: { kind: 'broker' }, secrets: ['custom/a'] }) },
  { what: '… with a path of the host', request: granting({ paths: [{ path: '/srv', writable: false }] }) },
  { what: 'anything with `always_ask`', request: { alwaysAsk: true } },
  { what: 'anything without isolation', request: granting({ isolated: false }) },
];

/** Rows that differ in nothing but the level of trust are one row. */
export function decisionTable(): string {
  const rows = WISHES.flatMap(({ what, request }) => {
    const byCells = Map.groupBy(TRUST_LEVELS, trust => JSON.stringify(cellsOf({ ...REQUEST, ...request, trust })));
    return [...byCells].map(([cells, trust]) => [what, trust.join(', '), ...(JSON.parse(cells) as string[])]);
  });
  const untrusted = rows.filter(([, trust]) => trust === 'untrusted');
  const same = new Set(untrusted.map(([, ...cells]) => JSON.stringify(cells))).size === 1;
  const [first = []] = untrusted;
  const shown = same ? [...rows.filter(row => !untrusted.includes(row)), ['anything', ...first.slice(1)]] : rows;
  return table(['what', 'trust', 'first run', 'later', 'after "always"', '"always" offered', 'rule'], shown);
}

function cellsOf(request: Request): string[] {
  const decisions = HISTORIES.map(history => judge(request, history));
  const [first] = decisions;
  const offered = first?.answers.get('terminal')?.includes('always') === true ? 'yes' : 'no';
  const verdicts = decisions.map(({ verdict, banner }) =>
    verdict === 'ask' && banner ? 'ask, with a banner' : verdict,
  );
  return [...verdicts, first?.verdict === 'ask' ? offered : '', `\`${first?.rule.name}\``];
}

function judge(request: Request, history: History): Decision {
  return decide({ user: null, shipped: SHIPPED, projects: [], at: 0 }, request, history);
}

export function rulesTable(): string {
  const rows = SHIPPED.rules.map((rule, index) => [
    String(index + 1),
    `\`${rule.name}\``,
    renderWhen(rule),
    rule.verdict === 'ask' ? `ask, ${rule.ask}` : rule.verdict,
    rule.why,
  ]);
  return table(['', 'rule', 'when', 'verdict', 'why'], rows);
}

function renderWhen({ when }: Rule): string {
  const parts = (Object.keys(when) as (keyof When)[]).flatMap(key => {
    const value = when[key];
    return value === null ? [] : [`${key}: ${renderValue(value)}`];
  });
  return `\`${parts.join('; ')}\``;
}

function renderValue(value: NonNullable<When[keyof When]>): string {
  if (typeof value !== 'object') return String(value);
  const list = 'kinds' in value ? [...value.kinds, ...value.hosts] : value;
  return list.map(item => (typeof item === 'string' ? item : item.text)).join(', ');
}

export function channelsTable(): string {
  return table(
    ['channel', 'may answer'],
    CHANNELS.map(channel => [channel, MOST[channel].join(', ')]),
  );
}

export function levelsTable(): string {
  return table(['guarantee', 'at least'], [...SHIPPED.least]);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n');
}
