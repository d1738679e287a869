import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { BROKER_PROGRAM, startBroker } from '../../src/broker/index.ts';
import { DEFAULT_EGRESS_LIMITS, EGRESS_PROGRAM, startEgress } from '../../src/egress/index.ts';
import { openParts } from '../../src/parts.ts';
import { BROKER_PORT } from '../../src/runs/broker.ts';
import { createStandby, type Standby } from '../../src/runs/standby.ts';
import { BROKER_SOCKET, PROXY_SOCKET } from '../../src/runs/way-out.ts';
import { briefOf, newToken } from '../support/broker.ts';
import { childrenOf, commandOf } from '../support/processes.ts';
import { optionsOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
const AROUND = { pins: [], roots: [], certificates: null };
const made: Standby[] = [];
const newStandby = () => {
  const standby = createStandby(true);
  made.push(standby);
  return standby;
};
afterEach(async () => {
  for (const standby of made.splice(0)) await standby.close();
});
/** A run that wanted it has been, and is over. */
const ask = (standby: Standby, program = BROKER_PROGRAM) => {
  const over = standby.busy();
  const taken = standby.take(program);
  over();
  return taken;
};
const waitingOf = (parent: number) =>
  childrenOf(parent).filter(pid => /(broker|egress)\/main\.ts/.test(commandOf(pid)));

test('none before somebody wanted one, none while a run is on, then one of each kind and no more', async () => {
  const standby = newStandby();
  expect(standby.report()).toMatchObject({ inAll: 2, ready: 0, starting: 0, bytes: 0 });
  const over = standby.busy();
  expect([standby.take(BROKER_PROGRAM), standby.take(EGRESS_PROGRAM), standby.take(BROKER_PROGRAM)]).toEqual([
    null,
    null,
    null,
  ]);
  await new Promise(resolve => setTimeout(resolve, 100));
  expect(standby.report()).toMatchObject({ ready: 0, starting: 0 });
  over();
  await expect.poll(() => standby.report().ready, { timeout: 10_000 }).toBe(2);
  const { bytes, keys } = standby.report();
  expect(bytes).toBeGreaterThan(1024 ** 2);
  expect(keys.map(({ label, ready }) => [label, ready])).toEqual([
    ['egress proxy', 1],
    ['broker', 1],
  ]);
  await standby.close();
  expect(standby.report()).toMatchObject({ ready: 0, bytes: 0 });
});

test('off: nothing is ever held', async () => {
  const standby = createStandby(false);
  expect(ask(standby)).toBeNull();
  await new Promise(resolve => setTimeout(resolve, 100));
  expect(standby.report()).toMatchObject({ inAll: 0, ready: 0, starting: 0, keys: [] });
  await standby.close();
});

test('SK-05 one that waits has been told nothing, serves one run, and ends with it', async () => {
  const standby = newStandby();
  ask(standby);
  await expect.poll(() => standby.report().ready, { timeout: 10_000 }).toBe(1);
  const waiting = ask(standby);
  if (waiting === null) throw new Error('none waited');
  expect(readFileSync(`/proc/${waiting.pid}/cmdline`, 'utf8').split('\0').slice(1)).toEqual([
    '--no-warnings',
    expect.stringMatching(/broker\/main\.ts$/),
    '',
  ]);
  if (process.getuid?.() === 0) expect(readFileSync(`/proc/${waiting.pid}/environ`, 'utf8')).toBe('');
  const directory = join(tempDir('broker'), 'b');
  const broker = await startBroker(directory, briefOf(newToken()), BROKER_PORT, AROUND, () => undefined, waiting);
  expect([broker.pid, existsSync(broker.socket)]).toEqual([waiting.pid, true]);
  const status = readFileSync(`/proc/${broker.pid}/status`, 'utf8');
  expect(/^Uid:\s+(\d+)/m.exec(status)?.[1]).toBe(process.getuid?.() === 0 ? '65534' : String(process.getuid?.()));
  await broker.close();
  expect([existsSync(directory), existsSync(`/proc/${broker.pid}`)]).toEqual([false, false]);
  // The next one is another process.
  await expect.poll(() => standby.report().ready, { timeout: 10_000 }).toBe(1);
  const next = ask(standby);
  expect(next?.pid).not.toBe(waiting.pid);
  await next?.dispose();
});

test('one that died meanwhile is no reason for a run to fail', async () => {
  const standby = newStandby();
  ask(standby);
  await expect.poll(() => standby.report().ready, { timeout: 10_000 }).toBe(1);
  const waiting = ask(standby);
  process.kill(waiting?.pid ?? 0, 'SIGKILL');
  const directory = join(tempDir('broker'), 'b');
  const broker = await startBroker(directory, briefOf(newToken()), BROKER_PORT, AROUND, () => undefined, waiting);
  expect(broker.pid).not.toBe(waiting?.pid);
  expect(existsSync(broker.socket)).toBe(true);
  await broker.close();
});

const HOLD = (then: string) => `
  const { createStandby } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/runs/standby.ts'))});
  const { BROKER_PROGRAM } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/broker/index.ts'))});
  const standby = createStandby(true);
  const over = standby.busy();
  standby.take(BROKER_PROGRAM);
  over();
  while (standby.report().ready === 0) await new Promise(resolve => setTimeout(resolve, 20));
  console.log('held');
  ${then}`;

test.each([
  ['is killed', 'setInterval(() => {}, 1000);', true],
  // Nothing keeps it: what waits must not do so either.
  ['has nothing left to do', '', false],
])('ends when its Skillbox %s', async (_, then, kill) => {
  const parent = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', HOLD(then)]);
  const exited = once(parent, 'exit');
  const said = kill ? String((await once(parent.stdout, 'data'))[0]) : await text(parent.stdout);
  expect(said).toBe('held\n');
  const held = kill ? waitingOf(parent.pid ?? 0) : [];
  expect(held).toHaveLength(kill ? 1 : 0);
  if (kill) parent.kill('SIGKILL');
  await exited;
  await expect.poll(() => held.filter(pid => existsSync(`/proc/${pid}`)), { timeout: 5000 }).toEqual([]);
});

test('none outlives the Skillbox that is closed while its process goes on', async () => {
  const parts = openParts(optionsOf(tempDir('closed'), 'bubblewrap', 1));
  ask(parts.standby);
  await expect.poll(() => parts.standby.report().ready, { timeout: 10_000 }).toBe(1);
  await parts.close();
  expect(parts.standby.report()).toMatchObject({ ready: 0, starting: 0, bytes: 0 });
  expect(waitingOf(process.pid)).toEqual([]);
});

test('none is left behind when there is no room for its directory, neither one that waited nor a fresh one', async () => {
  const standby = newStandby();
  ask(standby, EGRESS_PROGRAM);
  await expect.poll(() => standby.report().ready, { timeout: 10_000 }).toBe(1);
  const over = standby.busy();
  const waiting = standby.take(EGRESS_PROGRAM);
  expect(waiting).not.toBeNull();
  const nowhere = join(tempDir('full'), 'missing', 'p');
  for (const given of [waiting, null])
    await expect(startEgress(nowhere, [], DEFAULT_EGRESS_LIMITS, given)).rejects.toThrow('ENOENT');
  expect(waitingOf(process.pid)).toEqual([]);
  over();
});

test('one that is expected is there at once, whether others are held or not, for one run of its kind', async () => {
  const standby = createStandby(false);
  made.push(standby);
  standby.expect(BROKER_SOCKET);
  await expect.poll(() => waitingOf(process.pid).length).toBe(1);
  expect(standby.take(EGRESS_PROGRAM)).toBeNull();
  const child = standby.take(BROKER_PROGRAM);
  expect([child?.alive(), standby.take(BROKER_PROGRAM)]).toEqual([true, null]);
  // Told before it is up, as a run does that cannot wait.
  const brief = briefOf(newToken());
  const broker = await startBroker(join(tempDir('broker'), 'own'), brief, BROKER_PORT, AROUND, () => undefined, child);
  expect([broker.pid, existsSync(broker.socket)]).toEqual([child?.pid, true]);
  await broker.close();
  expect(waitingOf(process.pid)).toEqual([]);
});

test('one that was expected in vain ends with the standby; and nothing is begun behind a place that is not known', async () => {
  const standby = createStandby(false);
  standby.expect(PROXY_SOCKET);
  await expect.poll(() => waitingOf(process.pid).length).toBe(1);
  await standby.close();
  expect(waitingOf(process.pid)).toEqual([]);
  const other = createStandby(false);
  other.expect('/skillbox/other.sock');
  await other.close();
  expect(waitingOf(process.pid)).toEqual([]);
});
