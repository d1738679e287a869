import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Answers, type Given, openAnswers } from '../../src/approvals/index.ts';
import { openStore } from '../../src/store/index.ts';
import { WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const wishOf = (digest: string): Given['wish'] => ({
  bound: {
    dialect: 'gibberish',
    digest,
    target: { kind: 'tool', name: 'say' },
    grant: { network: { kind: 'none' }, secrets: [], workspace: null, paths: [], isolated: true },
    image: null,
    meaning: null,
    locks: [],
  },
  skill: { name: 'echoer', version: null },
  place: '/skills/echoer',
});
const given = (answer: Given['answer'], more: Partial<Given> = {}): Given => ({
  wish: wishOf('sb1-sha256:0'),
  answer,
  channel: 'terminal',
  by: 'tester',
  runId: 'run',
  call: 'call',
  expiresAt: null,
  ...more,
});

function open(): { answers: Answers; key: string } {
  const data = tempDir('answers');
  const store = openStore(data, WRITER);
  onTestFinished(() => store.close());
  const key = join(data, 'approvals.key');
  return { answers: openAnswers(store.answers(null), key), key };
}

const historyOf = async (answers: Answers) => (await answers.lookUp(wishOf('sb1-sha256:0'))).history;
const NOTHING = { approvedBefore: false, always: false, denied: false };

test('an answer whose time is over counts for nothing, also as a run that was allowed before', async () => {
  const { answers } = open();
  await answers.give(given('always', { expiresAt: Date.now() + 3_600_000 }), null, () => []);
  expect(await historyOf(answers)).toEqual({ ...NOTHING, approvedBefore: true, always: true });
  const other = open().answers;
  await other.give(given('always', { expiresAt: Date.now() - 1 }), null, () => []);
  expect(await historyOf(other)).toEqual(NOTHING);
});

test.each(['always', 'deny-always'] as const)(
  '"%s" that was taken back is gone, and is taken back once',
  async answer => {
    const { answers } = open();
    const told: unknown[] = [];
    await answers.give(given(answer), null, () => []);
    const [{ id } = { id: '' }] = await answers.list();
    const tell = ({ revokedAt }: { revokedAt: number | null }) => {
      told.push(revokedAt);
      return [];
    };
    expect(await answers.revoke(id, tell)).toMatchObject({ id, answer });
    expect(await answers.lookUp(wishOf('sb1-sha256:0'))).toMatchObject({ history: NOTHING, problem: null });
    expect(await answers.list()).toEqual([]);
    await expect(answers.revoke(id, () => [])).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(told).toEqual([expect.any(Number)]);
  },
);

test('what was approved last under the same name in the same place is shown, unless it is this very content', async () => {
  const { answers } = open();
  const shownFor = async (digest: string) => (await answers.lookUp(wishOf(digest))).previous?.bound.digest ?? null;
  await answers.give(given('once', { wish: wishOf('old') }), null, () => []);
  expect([await shownFor('old'), await shownFor('new')]).toEqual([null, 'old']);
  await answers.give(given('once', { wish: wishOf('new') }), null, () => []);
  expect([await shownFor('old'), await shownFor('new')]).toEqual(['new', null]);
  await answers.give(given('deny', { wish: wishOf('newest') }), null, () => []);
  expect(await shownFor('newest')).toBe('new');
});

test('whoever begins anew leaves no key behind, also none that was not settled yet', async () => {
  const { answers, key } = open();
  await answers.give(given('always'), null, () => []);
  renameSync(key, `${key}.new`);
  await answers.reset([]);
  expect([existsSync(key), existsSync(`${key}.new`)]).toEqual([false, false]);
  expect(await answers.lookUp(wishOf('sb1-sha256:0'))).toMatchObject({ history: NOTHING, problem: null });
});
