import { spawn } from 'node:child_process';
import { expect, it } from 'vitest';
import { isAlive, newId, ownerOfId, sameOwner, startTimeOf, thisOwner } from '../../src/sandbox/owner.ts';

it('an id carries its owner', () => {
  const owner = thisOwner();
  expect(ownerOfId(newId(owner))).toEqual(owner);
  expect(newId(owner)).not.toBe(newId(owner));
  for (const strange of ['', 'x', 'sb-1', '../../etc', 'probe-1-x']) expect(ownerOfId(strange)).toBeNull();
});

it('only the very same process is alive', async () => {
  const owner = thisOwner();
  expect(isAlive(owner)).toBe(true);
  expect(isAlive({ ...owner, startTime: owner.startTime + 1 })).toBe(false);
  expect(isAlive({ ...owner, bootId: '00000000-0000-0000-0000-000000000000' })).toBe(false);
  // Another pid namespace cannot be judged from here.
  expect(isAlive({ ...owner, pidNamespace: '1', pid: 999_999_999 })).toBe(true);
  const child = spawn('sleep', ['10']);
  const pid = child.pid ?? 0;
  const other = { ...owner, instance: 'ffffffffffff', pid, startTime: startTimeOf(pid) ?? 0 };
  expect(isAlive(other)).toBe(true);
  expect(sameOwner(other, owner)).toBe(false);
  child.kill('SIGKILL');
  await new Promise(resolve => child.once('exit', resolve));
  expect(isAlive(other)).toBe(false);
});
