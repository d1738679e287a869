import { expect, it } from 'vitest';
import { cgroupSettings, parseCgroups } from '../../src/sandbox/cgroup.ts';
import { LIMITS } from '../support/sandbox-spec.ts';

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
