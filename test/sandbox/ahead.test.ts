import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildHelper } from '../../scripts/build-helper.mjs';
import { createBubblewrap, type RunSpec, run, type SandboxMount } from '../../src/sandbox/index.ts';
import { BUBBLEWRAPS, makeStateDir, optionsFor } from '../support/drivers.ts';
import { commandOf, startedBy } from '../support/processes.ts';
import { MOUNTS, QUIET, specOf, text } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const BOOT = '/.skillbox/warm/boot.py';
const LOOK = 'print("ahead" if "boot.py" in open("/proc/self/cmdline").read() else "cold")';

function specFor(body = LOOK, more: SandboxMount[] = []): RunSpec {
  const mounts: SandboxMount[] = [{ kind: 'text', at: '/sandbox/main.py', text: body }, ...MOUNTS, ...more];
  return specOf(['python3', '/sandbox/main.py'], { mounts, env: { HOME: '/root', PATH: '/usr/bin:/bin' } });
}

/** What the sandbox would be made of, were it believed. */
function withMount(text: string): string {
  const shape = JSON.parse(text);
  const mount = { kind: 'bind', source: '/usr/share', at: '/more', writable: false, exec: true, protect: null };
  return JSON.stringify({ ...shape, mounts: [...shape.mounts, mount] });
}

function withLimit(text: string): string {
  const shape = JSON.parse(text);
  shape.around.limits.pids += 100;
  return JSON.stringify(shape);
}

describe.skipIf(BUBBLEWRAPS[0]?.skip !== null)('a sandbox that is begun before its run is known', () => {
  let stateDir: string;
  beforeAll(() => buildHelper());
  beforeEach(() => {
    stateDir = makeStateDir(process.getuid?.() ?? 0);
  });
  afterEach(async () => {
    expect(readdirSync(join(stateDir, 'runs'))).toEqual([]);
    await rm(stateDir, { recursive: true, force: true });
  });

  /** As a command does: one driver, one run. Nothing is left of either. */
  async function begunOnce(name: string | null, spec: RunSpec | null): Promise<string | null> {
    const sandbox = createBubblewrap(optionsFor(stateDir));
    await sandbox.warm(name);
    const told = spec === null ? null : text(await run(sandbox, spec, QUIET)).trim();
    await sandbox.close();
    expect(startedBy().filter(pid => commandOf(pid).includes(BOOT))).toEqual([]);
    return told;
  }
  const kept = () => readdirSync(join(stateDir, 'ahead')).map(name => join(stateDir, 'ahead', name));

  it('is like the last of its name, and there is none for another name or for none', async () => {
    expect(await begunOnce('a', specFor())).toBe('cold');
    expect(await begunOnce('a', specFor())).toBe('ahead');
    expect(await begunOnce('a', specFor(`${LOOK}\n`))).toBe('ahead'); // what it runs comes with the run
    expect(await begunOnce('b', specFor())).toBe('cold');
    expect(await begunOnce(null, specFor())).toBe('cold');
    expect(kept().length).toBe(2);
  });

  it.each([
    ['limits', (spec: RunSpec) => ({ ...spec, limits: { ...spec.limits, pids: spec.limits.pids + 1 } })],
    [
      'a variable that the interpreter reads at its start',
      (spec: RunSpec) => ({ ...spec, env: { ...spec.env, TZ: 'UTC' } }),
    ],
    ['a tenant', (spec: RunSpec) => ({ ...spec, tenant: 'other' })],
    ['an option of the interpreter', (spec: RunSpec) => ({ ...spec, argv: ['python3', '-I', '/sandbox/main.py'] })],
  ])('is given up where the run has other %s, and the next is like that one', async (_, change) => {
    await begunOnce('a', specFor());
    expect(await begunOnce('a', change(specFor()))).toBe('cold');
    expect(await begunOnce('a', change(specFor()))).toBe('ahead');
  });

  it('is not there for a run that cannot be made ready, nor for the next', async () => {
    await begunOnce('a', specFor());
    const workspace: SandboxMount = {
      kind: 'bind',
      source: tempDir('workspace', 0o777),
      at: '/workspace',
      writable: true,
      exec: true,
      protect: { reveal: [], unlock: [] },
    };
    expect(await begunOnce('a', specFor(LOOK, [workspace]))).toBe('cold');
    expect(kept()).toEqual([]);
    expect(await begunOnce('a', specFor())).toBe('cold');
  });

  it('says where its run will find the network, if it was so the last time', async () => {
    const socket = join(tempDir('way'), 'own.sock');
    const server = createServer().listen(socket);
    await once(server, 'listening');
    const network = { kind: 'egress' as const, socket, at: '/way/out.sock' };
    await begunOnce('b', specFor());
    for (const [name, spec, expected] of [
      ['a', { ...specFor(), network }, null],
      ['a', { ...specFor(), network }, '/way/out.sock'],
      ['b', specFor(), null],
    ] as const) {
      const sandbox = createBubblewrap(optionsFor(stateDir));
      await sandbox.warm(name);
      expect(sandbox.wayOut()).toBe(expected);
      await run(sandbox, spec, QUIET);
      expect(sandbox.wayOut()).toBeNull();
      await sandbox.close();
    }
    server.close();
  });

  it('serves one of two that come at once', async () => {
    await begunOnce('a', specFor());
    const sandbox = createBubblewrap(optionsFor(stateDir));
    await sandbox.warm('a');
    const both = await Promise.all([run(sandbox, specFor(), QUIET), run(sandbox, specFor(), QUIET)]);
    expect(both.map(text)).toEqual(['ahead\n', 'cold\n']);
    await sandbox.close();
  });

  it('serves one run', async () => {
    await begunOnce('a', specFor());
    const sandbox = createBubblewrap(optionsFor(stateDir));
    await sandbox.warm('a');
    expect(text(await run(sandbox, specFor(), QUIET))).toBe('ahead\n');
    expect(text(await run(sandbox, specFor(), QUIET))).toBe('cold\n');
    await sandbox.close();
  });

  it('goes with the command when no run comes, however far it is', async () => {
    await begunOnce('a', specFor());
    expect(await begunOnce('a', null)).toBeNull();
    const sandbox = createBubblewrap(optionsFor(stateDir));
    await sandbox.warm('a');
    await expect.poll(() => startedBy().some(pid => commandOf(pid).includes(BOOT))).toBe(true);
    await sandbox.close();
    expect(startedBy().filter(pid => commandOf(pid).includes(BOOT))).toEqual([]);
  });

  it('that died meanwhile is no fault of the run', async () => {
    await begunOnce('a', specFor());
    const sandbox = createBubblewrap(optionsFor(stateDir));
    await sandbox.warm('a');
    const found = () => startedBy().filter(pid => commandOf(pid).includes(BOOT));
    await expect.poll(() => found().length).toBeGreaterThan(0);
    for (const pid of found()) process.kill(pid, 'SIGKILL');
    // Until all of it is gone, and told.
    const around = () => startedBy().filter(pid => /^bwrap|\.skillbox\/helper/.test(commandOf(pid)));
    await expect.poll(() => around().length).toBe(0);
    await sleep(20);
    expect(text(await run(sandbox, specFor(), QUIET))).toBe('cold\n');
    await sandbox.close();
  });

  it.each([
    ['nothing', () => ''],
    ['half of it', (text: string) => text.slice(0, 40)],
    ['something else', () => '[1, 2]'],
    ['an object without anything', () => '{}'],
    ['one that lacks most', () => '{"key":"x","slots":[]}'],
    ['a key that is not its own', (text: string) => JSON.stringify({ ...JSON.parse(text), key: 'x' })],
    ['a mount that is not there', (text: string) => text.replaceAll('/sandbox/out', '/nowhere/../out')],
    ['another mount under the same key', withMount],
    ['a larger limit under the same key', withLimit],
  ])('is a guess: where %s is kept, the run goes the usual way', async (_, change) => {
    await begunOnce('a', specFor());
    const [path = ''] = kept();
    writeFileSync(path, change(readFileSync(path, 'utf8')));
    expect(await begunOnce('a', specFor())).toBe('cold');
    expect(await begunOnce('a', specFor())).toBe('ahead');
  });

  it('is kept for 64 names, the last ones', async () => {
    const sandbox = createBubblewrap(optionsFor(stateDir));
    await sandbox.warm('first');
    await run(sandbox, specFor(), QUIET);
    await sandbox.close();
    const [path = ''] = kept();
    for (let index = 0; index < 70; index++)
      writeFileSync(join(stateDir, 'ahead', `other-${index}`), readFileSync(path));
    await begunOnce('last', specFor());
    expect(kept().length).toBe(64);
    expect(await begunOnce('last', specFor())).toBe('ahead');
    expect(await begunOnce('first', specFor())).toBe('cold');
  });
});
