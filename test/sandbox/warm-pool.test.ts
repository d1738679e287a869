import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { createWarmPool, type WarmOptions, type WarmPool, warmOptions } from '../../src/sandbox/warm-pool.ts';

type Shape = { key: string; label: string };
type Thing = { key: string; alive(): boolean; gone: Promise<void>; dispose(): Promise<void>; die(): void };

const shape = (key: string): Shape => ({ key, label: key });
const OPTIONS: WarmOptions = { inAll: 2, perKey: 1, idleMs: 1, keepMs: 60_000, cleanLater: false };
let pool: WarmPool<Shape, Thing>;
let made: string[] = [];
let disposed: string[] = [];
let living: Thing[] = [];

function open(changes: Partial<WarmOptions> = {}, start: (key: string) => Promise<void> = async () => {}): void {
  made = [];
  disposed = [];
  living = [];
  pool = createWarmPool<Shape, Thing>({ ...OPTIONS, ...changes }, async ({ key }) => {
    await start(key);
    made.push(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    let alive = true;
    const die = () => {
      alive = false;
      resolve();
    };
    const thing: Thing = {
      key,
      die,
      alive: () => alive,
      gone: promise,
      dispose: async () => {
        disposed.push(key);
        die();
      },
    };
    living.push(thing);
    return thing;
  });
}
/** A run that goes the cold way: a sign of demand, and then idleness. */
function ask(key: string): Thing | null {
  const over = pool.busy();
  const taken = pool.take(shape(key));
  over();
  return taken;
}
const ready = () => pool.report().ready;
const until = (wanted: () => boolean) => expect.poll(wanted).toBe(true);
afterEach(() => pool.close());

it('the first run of a key goes the cold way, the next finds a spare, and each spare is used once', async () => {
  open();
  expect(ask('a')).toBeNull();
  await until(() => ready() === 1);
  const first = ask('a');
  expect(first?.key).toBe('a');
  await until(() => ready() === 1);
  const second = ask('a');
  expect(second).not.toBeNull();
  expect(second).not.toBe(first);
  expect(pool.report().keys).toEqual([{ label: 'a', ready: 0, hits: 2, misses: 1, died: 0 }]);
});

it('a spare is never given to another key', async () => {
  open();
  ask('a');
  await until(() => ready() === 1);
  expect(pool.take(shape('b'))).toBeNull();
});

it('nothing is started while a run is on', async () => {
  open();
  const over = pool.busy();
  pool.take(shape('a'));
  const short = pool.busy();
  short();
  await sleep(30);
  expect(made).toEqual([]);
  over();
  await until(() => ready() === 1);
});

it('no more than the bounds, per key and in all; the key used last takes the place of the one used first', async () => {
  open({ inAll: 3, perKey: 2 });
  ask('a');
  await until(() => ready() === 2);
  ask('b');
  await until(() => made.filter(key => key === 'b').length === 1);
  ask('c');
  await until(() => made.includes('c'));
  await sleep(20);
  expect(ready()).toBe(3);
  ask('d');
  await until(() => made.includes('d'));
  await sleep(20);
  expect(ready()).toBe(3);
  expect(pool.report().keys.find(({ label }) => label === 'a')?.ready).toBe(0);
});

it('the list of keys is bounded', async () => {
  open({ inAll: 1 });
  for (let i = 0; i < 100; i++) pool.take(shape(`key ${i}`));
  expect(pool.report().keys.length).toBe(64);
});

it('a key that nobody asks for gives up its spares', async () => {
  open({ keepMs: 1 });
  ask('a');
  await until(() => ready() === 1);
  await expect.poll(() => pool.report().keys, { timeout: 5000 }).toEqual([]);
  expect(disposed).toEqual(['a']);
});

it('a spare that dies is replaced, and not for ever', async () => {
  open();
  ask('a');
  for (let deaths = 1; deaths <= 3; deaths++) {
    await until(() => made.length === deaths && ready() === 1);
    living.at(-1)?.die();
  }
  await sleep(30);
  expect(made.length).toBe(3);
  expect(disposed.length).toBe(3);
  expect(pool.report().keys[0]?.died).toBe(3);
  expect(ask('a')).toBeNull();
});

it('a spare that cannot be started is left to the cold path', async () => {
  open({}, async () => {
    throw new Error('no');
  });
  ask('a');
  await sleep(30);
  expect(ready()).toBe(0);
  expect(ask('a')).toBeNull();
});

it('closing gives up everything, also what is still starting', async () => {
  open({}, () => sleep(30));
  ask('a');
  await sleep(10);
  await pool.close();
  expect(ready()).toBe(0);
  expect(disposed).toEqual(made);
  expect(ask('a')).toBeNull();
});

it('cleaning up behind the result is waited for by close', async () => {
  open({ cleanLater: true });
  await pool.ensure(shape('a'));
  const taken = pool.take(shape('a'));
  if (taken === null) throw new Error('no spare');
  await pool.release(taken);
  expect(disposed).toEqual([]);
  await pool.close();
  expect(disposed).toEqual(['a']);
});

it('off means off', async () => {
  open(warmOptions(0));
  ask('a');
  await sleep(40);
  expect(made).toEqual([]);
});

it('is spent only while several run, a shape is known, and nothing is ready', async () => {
  open();
  const [first, second] = [pool.busy(), pool.busy()];
  expect(pool.isSpent()).toBe(false); // nobody has asked yet: what fits is still to be found out
  expect(pool.take(shape('a'))).toBeNull();
  expect(pool.isSpent()).toBe(true);
  second();
  expect(pool.isSpent()).toBe(false);
  first();
  await pool.ensure(shape('a'));
  pool.busy();
  pool.busy();
  expect(pool.isSpent()).toBe(false);
});
