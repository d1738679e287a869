import { fork } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { thisOwner } from '../../src/sandbox/owner.ts';
import { takeLock } from '../../src/sandbox/owner-lock.ts';
import { sweepUids, takeUid } from '../../src/sandbox/uids.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
const DEAD = { ...thisOwner(), instance: '000000000000', pid: 1, startTime: -1 };

it('never gives one uid twice, and says when there is none', () => {
  const range = { first: 300_000, count: 5, locks: tempDir('uids') };
  const taken = [1, 2, 3, 4, 5].map(() => takeUid(range));
  expect(new Set(taken.map(({ uid }) => uid)).size).toBe(5);
  expect(() => takeUid(range)).toThrow(/in use/);
  taken[0]?.release();
  expect(takeUid(range).uid).toBe(taken[0]?.uid);
});

it('a lock that was cleared away, or is somebody else’s by now, lends its name to no other', () => {
  const range = { first: 300_000, count: 50, locks: tempDir('uids') };
  const [first, second] = [takeUid(range), takeUid(range)];
  expect(readdirSync(range.locks).sort()).toEqual([first.uid, second.uid].map(String).sort());
  for (const { uid } of [first, second])
    writeFileSync(join(range.locks, String(uid)), JSON.stringify({ owner: DEAD, token: 'other' }));
  const third = takeUid(range);
  const owner = (uid: number) =>
    (JSON.parse(readFileSync(join(range.locks, String(uid)), 'utf8')) as { owner: unknown }).owner;
  expect(owner(third.uid)).toEqual(thisOwner());
  for (const name of readdirSync(range.locks)) rmSync(join(range.locks, name));
  expect(owner(takeUid(range).uid)).toEqual(thisOwner());
});

it('takes over from the dead, and a sweep removes their locks', () => {
  const range = { first: 300_000, count: 3, locks: tempDir('uids') };
  for (const uid of [300_000, 300_001])
    writeFileSync(join(range.locks, String(uid)), JSON.stringify({ owner: DEAD, token: `t${uid}` }));
  const held = takeUid(range);
  sweepUids(range.locks);
  expect(readdirSync(range.locks)).toEqual([String(held.uid)]);
});

it('a lock that is damaged is nobody’s to give, and stops nobody else', () => {
  const range = { first: 300_000, count: 3, locks: tempDir('uids') };
  const own = takeUid(range);
  writeFileSync(join(range.locks, String(own.uid)), '{"owner":{"pid"');
  const others = [takeUid(range), takeUid(range)].map(({ uid }) => uid);
  expect(new Set([own.uid, ...others]).size).toBe(3);
  expect(() => takeUid(range)).toThrow(/in use/);
  sweepUids(range.locks);
  expect(readdirSync(range.locks)).toHaveLength(3);
  expect(() => takeLock(range.locks, String(own.uid))).toThrow(/damaged/);
});

it('a file aside whose writer was killed over it is swept in time, one that is being written is not', () => {
  const locks = tempDir('uids');
  for (const [name, text] of [
    ['.young', ''],
    ['.old', ''],
    ['.half', '{"owner":{"pid"'],
  ] as const)
    writeFileSync(join(locks, name), text);
  const long = new Date(Date.now() - 120_000);
  for (const name of ['.old', '.half']) utimesSync(join(locks, name), long, long);
  sweepUids(locks);
  expect(readdirSync(locks)).toEqual(['.young']);
});

it('many processes at once, over dead locks: every uid has one holder', async () => {
  const locks = tempDir('uids');
  const count = 24;
  for (let uid = 300_000; uid < 300_000 + count; uid++)
    writeFileSync(join(locks, String(uid)), JSON.stringify({ owner: DEAD, token: `t${uid}` }));
  const script = new URL('../support/take-uids.ts', import.meta.url);
  const children = [1, 2, 3].map(() =>
    fork(script, [JSON.stringify({ first: 300_000, count, locks }), String(count / 3)], { execArgv: [] }),
  );
  const answers = await Promise.all(
    children.map(
      child => new Promise<number[]>(resolve => child.once('message', message => resolve(message as number[]))),
    ),
  );
  for (const child of children) child.kill();
  const all = answers.flat();
  expect(all.length).toBe(count);
  expect(new Set(all).size).toBe(count);
});
