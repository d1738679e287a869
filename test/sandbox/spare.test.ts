import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { buildHelper } from '../../scripts/build-helper.mjs';
import { makeCgroup } from '../../src/sandbox/cgroup.ts';
import { findCgroups } from '../../src/sandbox/cgroup-find.ts';
import { createBubblewrap } from '../../src/sandbox/index.ts';
import { BUBBLEWRAPS, makeStateDir, optionsFor, WARM } from '../support/drivers.ts';
import { startedBy } from '../support/processes.ts';
import { skipUnless } from '../support/require.ts';
import { MOUNTS, QUIET, specOf, text } from '../support/sandbox-spec.ts';
import { slowCgroup } from '../support/slow-cgroup.ts';
import { tidy } from '../support/temp.ts';

tidy();

const skip = BUBBLEWRAPS[0]?.skip ?? skipUnless(findCgroups() !== null, 'cgroups', 'no cgroup can be made here');

describe.skipIf(skip !== null)('a berth that is held ready', () => {
  const spec = specOf(['bash', '-c', 'echo here'], { mounts: MOUNTS });
  let stateDir: string;
  beforeAll(() => buildHelper());
  beforeEach(() => {
    stateDir = makeStateDir(process.getuid?.() ?? 0);
  });

  /** `joins`: for each berth what it joins after its cgroups. No kernel refuses a process when it is told to. */
  async function held(...joins: string[][]) {
    let berths = 0;
    const sandbox = createBubblewrap(optionsFor(stateDir), async (host, id) => {
      const cgroup = await makeCgroup(host, id);
      return { ...cgroup, procs: [...cgroup.procs, ...(joins[berths++] ?? [])] };
    });
    onTestFinished(() => sandbox.close());
    await sandbox.warm(null);
    return { sandbox, berths: () => berths };
  }

  it('and cannot join its cgroups, late, is not the end of its run', async () => {
    const slow = slowCgroup();
    const { sandbox, berths } = await held([slow.procs, '/nosuch/cgroup.procs']);
    const preparing = sandbox.prepare(spec);
    await sleep(200); // the run has it by now
    slow.letIn();
    const handle = await preparing;
    expect(text(await handle.start(QUIET))).toBe('here\n');
    expect(berths()).toBe(2);
    expect(readdirSync(join(stateDir, 'runs'))).toEqual([handle.id]);
    await handle.dispose();
    expect(readdirSync(join(stateDir, 'runs'))).toEqual([]);
  });

  it.each(['cold', 'warm'])('ends with its run, whether anybody disposes of it or not: %s', async kind => {
    const before = startedBy().length;
    const warm = { ...WARM, idleMs: 60_000 };
    const sandbox = createBubblewrap({ ...optionsFor(stateDir), ...(kind === 'warm' ? { warm } : {}) });
    onTestFinished(() => sandbox.close());
    if (kind === 'warm') await sandbox.preheat(spec);
    const handle = await sandbox.prepare(spec);
    expect(text(await handle.start(QUIET))).toBe('here\n');
    expect(sandbox.warmth().keys.map(({ hits }) => hits)).toEqual(kind === 'warm' ? [1] : []);
    // What is left is the keeper.
    await vi.waitFor(() => expect(startedBy().length).toBe(before + 1));
    await handle.dispose();
  });

  it('is waited for when it joins late, and used', async () => {
    const slow = slowCgroup();
    const { sandbox, berths } = await held([slow.procs]);
    const preparing = sandbox.prepare(spec);
    await sleep(200);
    slow.letIn();
    const handle = await preparing;
    expect(text(await handle.start(QUIET))).toBe('here\n');
    expect(berths()).toBe(1);
    await handle.dispose();
  });

  it('is replaced once: where the next one cannot join either, the run says so', async () => {
    const slow = slowCgroup();
    const { sandbox, berths } = await held([slow.procs, '/nosuch/cgroup.procs'], ['/neither/cgroup.procs']);
    const preparing = sandbox.prepare(spec);
    await sleep(200);
    slow.letIn();
    const failed = preparing.then(async handle => {
      onTestFinished(() => handle.dispose());
      await handle.start(QUIET);
    });
    await expect(failed).rejects.toMatchObject({
      code: 'SANDBOX_FAILED',
      message: expect.stringContaining('/neither'),
    });
    expect(berths()).toBe(2);
  });
});
