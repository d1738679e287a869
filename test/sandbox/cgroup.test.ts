import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Cgroup, cgroupSettings, destroyCgroup, listCgroups, makeCgroup } from '../../src/sandbox/cgroup.ts';
import { type CgroupHost, findCgroups, parseCgroups } from '../../src/sandbox/cgroup-find.ts';
import { newId, thisOwner } from '../../src/sandbox/owner.ts';
import { skipUnless } from '../support/require.ts';
import { LIMITS } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

it('finds the v1 hierarchies and our place in them', () => {
  const mountinfo = `30 25 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
33 30 0:29 /docker/abc /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
34 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw`;
  const own = '9:pids:/docker/abc/inner\n8:cpu,cpuacct:/a\n4:memory:/user/b\n0::/';
  expect(parseCgroups(mountinfo, own)).toEqual({
    v1: new Map([
      ['cpu', '/sys/fs/cgroup/cpu,cpuacct/a'],
      ['memory', '/sys/fs/cgroup/memory/user/b'],
      ['pids', '/sys/fs/cgroup/pids/inner'],
    ]),
    v2: '/sys/fs/cgroup/unified',
    v2Root: '/sys/fs/cgroup/unified',
  });
});

it('finds the v2 tree of a systemd session', () => {
  const own = '0::/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope';
  expect(parseCgroups('30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw', own)).toEqual({
    v1: new Map(),
    v2: '/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope',
    v2Root: '/sys/fs/cgroup',
  });
});

it('writes every limit, swap included, and counts our two processes in', () => {
  const values = (version: 1 | 2) =>
    Object.fromEntries(
      cgroupSettings(version, { ...LIMITS, cpus: 0.5, memoryBytes: 1000, pids: 10 }).map(({ file, value }) => [
        file,
        value,
      ]),
    );
  expect(values(2)).toEqual({
    'memory.max': '1000',
    'memory.swap.max': '0',
    'memory.oom.group': '1',
    'pids.max': '12',
    'cpu.max': '50000 100000',
  });
  expect(values(1)).toEqual({
    'memory.limit_in_bytes': '1000',
    'memory.memsw.limit_in_bytes': '1000',
    'memory.swappiness': '0',
    'pids.max': '12',
    'cpu.cfs_period_us': '100000',
    'cpu.cfs_quota_us': '50000',
  });
});

describe('what a v2 kernel says', () => {
  const host = (parent: string): CgroupHost => ({ version: 2, parents: new Map([['memory', parent]]) });
  const told = async (files: Record<string, string>) => {
    const parent = tempDir('cgroups');
    const cgroup = await makeCgroup(host(parent), 'run');
    for (const [name, text] of Object.entries(files)) writeFileSync(join(parent, 'run', name), text);
    return cgroup.stats();
  };

  it('is read by name: what was killed, and the most that was used', async () => {
    const events = 'low 0\nhigh 0\nmax 81\noom 1\noom_kill 3\noom_group_kill 1\n';
    expect(await told({ 'memory.events': events, 'memory.peak': '1048576\n' })).toEqual({
      oomKills: 3,
      pidsRefused: 0,
      peakBytes: 1048576,
      cpuMs: null,
    });
  });

  it('a kernel before 5.19 does not tell the most that was used', async () => {
    expect((await told({ 'memory.events': 'oom 0\noom_kill 0\n' })).peakBytes).toBeNull();
  });
});

const found = findCgroups();
const skip = skipUnless(found !== null, 'cgroups', 'no cgroup can be made here');

describe.skipIf(skip !== null)('real cgroups', () => {
  const host = found ?? { version: 2 as const, parents: new Map() };
  /** A process that has joined `cgroup` and forks without end. */
  const forker = (cgroup: Cgroup) => {
    const joined = cgroup.procs.map(path => `echo $$ > ${path}`).join(' && ');
    return spawn('sh', ['-c', `${joined} && echo in && while :; do (sleep 20) & sleep 0.002; done`], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  };

  it('what forks without end is swept with all that it forked', async () => {
    const id = newId(thisOwner());
    const cgroup = await makeCgroup(host, id);
    cgroup.limit({ ...LIMITS, pids: 200 });
    const child = forker(cgroup);
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    await sleep(100);
    const [procs = ''] = cgroup.procs;
    expect(readFileSync(procs, 'utf8').trim().split('\n').length).toBeGreaterThan(1);
    await destroyCgroup(host, id);
    // The kernel removes none that has a living process.
    expect(existsSync(procs)).toBe(false);
    expect(await listCgroups(host)).not.toContain(id);
  });

  it('every limit is in force as it was asked for', async () => {
    const cgroup = await makeCgroup(host, newId(thisOwner()));
    try {
      cgroup.limit(LIMITS);
      for (const { controller, file, value, optional } of cgroupSettings(host.version, LIMITS)) {
        const directory = dirname(
          cgroup.procs.find(path => path.startsWith(host.parents.get(controller) ?? '-')) ?? '',
        );
        if (directory === '.' || (optional && !existsSync(join(directory, file)))) continue;
        expect([file, readFileSync(join(directory, file), 'utf8').trim()]).toEqual([file, value]);
      }
    } finally {
      await cgroup.remove();
    }
  });

  it('looking for them moves nobody and leaves nothing', () => {
    const before = readFileSync('/proc/self/cgroup', 'utf8');
    expect(findCgroups()).toEqual(found);
    expect(readFileSync('/proc/self/cgroup', 'utf8')).toBe(before);
  });
});
