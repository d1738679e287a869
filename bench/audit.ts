// npm run bench -- audit: entries per second with durability on, against a plain append with fsync; verify of a million.
import { spawnSync } from 'node:child_process';
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AuditEvent, FIRST_PREV, type Head, openAudit, seal, toLine } from '../src/audit/index.ts';
import { Database } from '../src/store/database.ts';
import { openStore } from '../src/store/index.ts';
import { median, printTable, quiet } from './measure.ts';

const ENTRIES = 500;
const ROUNDS = 5;
/** Two sizes, so that one sees whether memory grows with the journal. */
const VERIFIED = [100_000, 1_000_000] as const;
/** Left alone, V8 lets garbage lie as long as there is memory; with this limit one sees what is needed. */
const HEAP = ['--max-old-space-size=40', '--max-semi-space-size=4'];
const MIB = 1024 ** 2;
const writer = { id: 'bench', isDead: () => false };

/** As large as what a run tells when it ends. */
const event = (at: number): AuditEvent => ({
  type: 'run.ended',
  actor: { id: 'uid:1000', channel: 'local' },
  tenant: null,
  subject: `run-${at}`,
  data: {
    state: 'success',
    ending: { kind: 'exited', code: 0 },
    exitCode: 0,
    artifacts: [],
    logBytes: at,
    usage: { cpuMs: 12, maxMemoryBytes: 5_000_000 },
  },
});

export async function run(): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'skillbox-bench-audit-'));
  try {
    await benchAppend(scratch);
    benchVerify(scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Cases take turns within each round. Each entry is on the disk before the next one begins. */
async function benchAppend(scratch: string): Promise<void> {
  const store = openStore(join(scratch, 'store'), writer);
  const file = openSync(join(scratch, 'plain.jsonl'), 'a');
  const line = Buffer.from(`${toLine(seal(event(0), { chain: 'x', seq: 0, hash: FIRST_PREV }, Date.now()))}\n`);
  const cases: [string, (at: number) => void | Promise<void>][] = [
    [
      'plain append with fsync',
      () => {
        writeSync(file, line);
        fdatasyncSync(file);
      },
    ],
    ['journal, one entry each time', at => store.journal.append(event(at))],
    [
      'journal, ten entries each time',
      at =>
        at % 10 === 0 ? store.journal.append(...Array.from({ length: 10 }, (_, next) => event(at + next))) : undefined,
    ],
  ];
  const rates = new Map<string, number[]>(cases.map(([name]) => [name, []]));
  for (let round = -1; round < ROUNDS; round++) {
    for (const [name, write] of cases) {
      const start = performance.now();
      for (let at = 0; at < ENTRIES; at++) await write(at);
      if (round >= 0) rates.get(name)?.push((ENTRIES / (performance.now() - start)) * 1000);
    }
  }
  closeSync(file);
  await store.close();
  const plain = median(rates.get('plain append with fsync') ?? []);
  printTable(
    `Journal entries per second, each on the disk before the next (${ROUNDS} rounds of ${ENTRIES})`,
    ['', 'entries/s', 'of plain append'],
    cases.map(([name]) => {
      const rate = median(rates.get(name) ?? []);
      return [name, rate.toFixed(0), `${((rate / plain) * 100).toFixed(0)} %`];
    }),
  );
}

/** In one transaction, which is why it is not done through the store. */
function fillJournal(directory: string, count: number): void {
  void openStore(directory, writer).close();
  const database = new Database(join(directory, 'skillbox.db'), 1000);
  const chain = String(database.prepare('SELECT id FROM audit_store').get()?.id);
  void database.write('later', () => {
    database.prepare('INSERT INTO audit_chains VALUES (1, ?, 0, ?)').run(chain, FIRST_PREV);
    const insert = database.prepare('INSERT INTO audit (chain, seq, body, hash) VALUES (1, ?, ?, ?)');
    let head: Head = { chain, seq: 0, hash: FIRST_PREV };
    for (let at = 0; at < count; at++) {
      const { seq, body, hash } = seal(event(at), head, Date.now());
      insert.run(seq, body, hash);
      head = { chain, seq, hash };
    }
  });
  database.close();
}

/** Each in a process of its own, so that its memory is its own. */
function benchVerify(scratch: string): void {
  const rows = VERIFIED.map(count => {
    const directory = join(scratch, `verify-${count}`);
    fillJournal(directory, count);
    const { status, stdout } = spawnSync(process.execPath, [...HEAP, import.meta.filename, directory], {
      env: quiet(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (status !== 0) throw new Error(`verify ended with ${status}`);
    const { entries, seconds, addedBytes } = JSON.parse(String(stdout)) as Measured;
    return [String(entries), seconds.toFixed(1), (entries / seconds).toFixed(0), (addedBytes / MIB).toFixed(0)];
  });
  printTable(
    'Verifying a journal, with a heap of 40 MiB',
    ['entries', 'seconds', 'entries/s', 'memory it takes at most, MiB'],
    rows,
  );
}

type Measured = { entries: number; seconds: number; addedBytes: number };

async function verifyHere(directory: string): Promise<void> {
  const startBytes = process.resourceUsage().maxRSS * 1024;
  const store = openStore(directory, writer);
  const start = performance.now();
  const { wrong, entries } = await openAudit(store.journal, directory).verify(null, null);
  const seconds = (performance.now() - start) / 1000;
  await store.close();
  if (wrong !== null) throw new Error(wrong.what);
  const addedBytes = process.resourceUsage().maxRSS * 1024 - startBytes;
  process.stdout.write(JSON.stringify({ entries, seconds, addedBytes } satisfies Measured));
}

if (import.meta.main) await verifyHere(process.argv[2] ?? '');
