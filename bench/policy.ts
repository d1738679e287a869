// npm run bench -- policy: how many decisions a second, under the shipped rules and under large files.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createJudge,
  decide,
  type History,
  openTrustStore,
  type Policies,
  type Request,
  readPolicy,
  SHIPPED,
} from '../src/policy/index.ts';
import { median, printTable } from './measure.ts';

const HISTORY: History = { approvedBefore: false, always: false, denied: false };
const ROUNDS = 7;
const ROUND_MS = 100;

function requestFor(trust: Request['trust'], network: Request['grant']['network']): Request {
  return {
    trust,
    dialect: 'skillbox',
    skill: { name: 'word-count', version: '1.0.0', digest: 'sha256:0' },
    publisher: null,
    target: { kind: 'main', name: 'scripts/main.py' },
    readOnly: false,
    alwaysAsk: false,
    grant: { network, secrets: [], workspace: null, paths: [], isolated: true },
  };
}

const REQUESTS = [
  requestFor('user', { kind: 'none' }),
  requestFor('untrusted', { kind: 'none' }),
  requestFor('bundled', { kind: 'hosts', hosts: ['api.example.com', 'cdn.example.com'] }),
];

/** Rules that are all asked and none of which speaks. */
function filePolicy(rules: number): Policies['user'] {
  const lines = Array.from(
    { length: rules },
    (_, index) => `  - {name: r${index}, when: {skill: 'other-*-${index}'}, verdict: deny}`,
  );
  return readPolicy(`version: 1\nrules:\n${lines.join('\n')}\n`, 'user', 'user').policy;
}

function perSecond(body: () => void): number {
  const rates = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    let count = 0;
    for (; performance.now() - start < ROUND_MS; count++) body();
    return (count * 1000) / (performance.now() - start);
  });
  return median(rates);
}

export async function run(): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'skillbox-bench-'));
  try {
    const shipped: Policies = { user: null, shipped: SHIPPED, projects: [], at: 0 };
    const judge = createJudge({
      userPolicy: join(scratch, 'policy.yaml'),
      directory: scratch,
      bundled: [],
      own: [scratch],
      store: openTrustStore(scratch),
    });
    const all = (policies: () => Policies) => () => {
      for (const request of REQUESTS) decide(policies(), request, HISTORY);
    };
    const large = { ...shipped, user: filePolicy(100) };
    const cases: [string, () => void][] = [
      ['the shipped rules', all(() => shipped)],
      ['100 rules of the user before them', all(() => large)],
      ['the shipped rules, files looked for each time', all(() => judge.policies(null))],
    ];
    const rows = cases.map(([name, body]) => [
      name,
      Math.round(perSecond(body) * REQUESTS.length).toLocaleString('en-GB'),
    ]);
    printTable('Decisions', ['under', 'decisions/s'], rows);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
