import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fromRow, toRow, toSealRow } from '../../src/approvals/given.ts';
import { derivedKey, type Given, openAnswers } from '../../src/approvals/index.ts';
import { openStore } from '../../src/store/index.ts';
import { WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const wish: Given['wish'] = {
  bound: {
    dialect: 'workspace',
    digest: 'sb1-sha256:0',
    target: { kind: 'script', name: 'scripts/a.sh' },
    grant: { network: { kind: 'none' }, secrets: [], workspace: null, paths: [], isolated: true },
    image: null,
    meaning: null,
    locks: [],
  },
  skill: { name: 'a', version: null },
  place: '/a',
};
const always: Given = {
  wish,
  answer: 'always',
  channel: 'terminal',
  by: 'tester',
  runId: 'run',
  call: 'call',
  expiresAt: null,
};

function open() {
  const data = tempDir('answers');
  const store = openStore(data, WRITER);
  onTestFinished(() => store.close());
  return { rows: store.answers(null), key: join(data, 'approvals.key') };
}

test('whoever looks while the first answer is written sees none, and no forgery', async () => {
  const { rows, key } = open();
  const other = openAnswers(rows, key);
  const seen: unknown[] = [];
  const look = async () => {
    const { history, problem } = await other.lookUp(wish);
    seen.push([history.always, problem]);
  };
  const slow = openAnswers(
    {
      ...rows,
      write: async change => {
        await look();
        const written = await rows.write(change);
        await look();
        return written;
      },
    },
    key,
  );
  await slow.give(always, null, () => []);
  await look();
  expect(seen).toEqual([
    [false, null],
    [true, null],
    [true, null],
  ]);
});

test('a process that died after its first answer was written: the answer holds, also after the next one', async () => {
  const { rows, key } = open();
  await openAnswers(rows, key).give(always, null, () => []);
  renameSync(key, `${key}.new`);
  const after = openAnswers(rows, key);
  expect(await after.lookUp(wish)).toMatchObject({ history: { always: true }, problem: null });
  await after.give({ ...always, answer: 'deny-always' }, null, () => []);
  expect([existsSync(key), existsSync(`${key}.new`)]).toEqual([true, false]);
  expect(await after.lookUp(wish)).toMatchObject({ history: { denied: true }, problem: null });
});

test('two processes give the first answer at once: both are kept under one key', async () => {
  const { rows, key } = open();
  let first = true;
  const late = openAnswers(
    {
      ...rows,
      // Between its look and its own key, another process has begun, written and settled.
      isEmpty: async () => {
        const found = await rows.isEmpty();
        if (first) {
          first = false;
          await openAnswers(rows, key).give(always, null, () => []);
        }
        return found;
      },
    },
    key,
  );
  await late.give({ ...always, answer: 'deny-always' }, null, () => []);
  expect(await openAnswers(rows, key).lookUp(wish)).toMatchObject({
    history: { always: true, denied: true },
    problem: null,
  });
  expect(existsSync(`${key}.new`)).toBe(false);
});

test('what stands is listed, and can be taken back, however many runs were allowed once since', async () => {
  const { rows } = open();
  const key = Buffer.alloc(32, 7);
  const answers = openAnswers(
    rows,
    derivedKey(() => key),
  );
  for (const answer of ['always', 'deny-always'] as const) await answers.give({ ...always, answer }, null, () => []);
  const standing = (await answers.list()).map(({ id }) => id);
  const [row] = await rows.byIds(standing);
  const once = { ...fromRow(row as NonNullable<typeof row>, key), answer: 'once' } as NonNullable<
    ReturnType<typeof fromRow>
  >;
  const flood = Array.from({ length: 1001 }, (_, at) =>
    toRow({ ...once, id: `once-${at}`, createdAt: once.createdAt + 1 + at }, key),
  );
  const seal = { version: 3, denied: standing.slice(0, 1), revoked: [] };
  await rows.write({ rows: flood, seal: toSealRow(seal, key), run: null, events: [] });

  const listed = await answers.list();
  expect(listed.slice(-2).map(({ id }) => id)).toEqual(standing);
  expect(listed[0]?.id).toBe('once-1000');
  expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length);
  await answers.revoke(standing[0] as string, () => []);
  expect((await answers.list()).slice(-1).map(({ id }) => id)).toEqual(standing.slice(1));
});

test('the first answer that is written while somebody looks is no forgery', async () => {
  const { rows, key } = open();
  let first = true;
  const looking = {
    ...rows,
    isEmpty: async () => {
      if (first) {
        first = false;
        await openAnswers(rows, key).give(always, null, () => []);
      }
      return rows.isEmpty();
    },
  };
  expect(await openAnswers(looking, key).lookUp(wish)).toMatchObject({ history: { always: true }, problem: null });
});
