import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../src/sandbox/index.ts';
import { ALLOWED, CONDITIONAL, REFUSED } from '../../src/sandbox/syscalls.ts';
import arm64 from '../../src/sandbox/syscalls-arm64.json' with { type: 'json' };
import x64 from '../../src/sandbox/syscalls-x64.json' with { type: 'json' };
import { binMount, lines } from '../support/attack.ts';
import { BUBBLEWRAPS, ENGINES, type Subject } from '../support/drivers.ts';
import { MOUNTS, QUIET, specOf } from '../support/sandbox-spec.ts';
import { tidy } from '../support/temp.ts';

tidy();

const numbers: Record<string, number> = process.arch === 'arm64' ? arm64 : x64;

for (const driver of [...BUBBLEWRAPS.filter(({ name }) => !/spare|without/.test(name)), ...ENGINES])
  describe.skipIf(driver.skip !== null)(`${driver.name}: system calls from inside`, () => {
    let subject: Subject;
    beforeAll(async () => {
      subject = await driver.make();
    });
    afterAll(() => subject?.close());
    const call = (args: string[]) =>
      run(subject.sandbox, specOf(['/attack-bin/syscalls', ...args], { mounts: [...MOUNTS, binMount()] }), QUIET);

    it('every refused call is EPERM, every unlisted one ENOSYS', async () => {
      const listed = new Set([...ALLOWED, ...Object.keys(CONDITIONAL)]);
      const names = Object.keys(numbers).filter(name => !listed.has(name));
      // arm64 has fewer calls, and no old ones among them.
      expect(names.length).toBeGreaterThanOrEqual(process.arch === 'arm64' ? 90 : 91);
      const outcome = await call(names.flatMap(name => [name, String(numbers[name]), '-1', '-1', '-1']));
      expect(outcome.end).toEqual({ kind: 'exited', code: 0 });
      expect(lines(outcome)).toEqual(names.map(name => `${name} ${REFUSED.includes(name) ? 1 : 38}`));
    });

    it.each([
      ['clone with NEWUSER', 'clone', 0x10000011, 0, 0, 1],
      ['clone with NEWNS', 'clone', 0x20011, 0, 0, 1],
      ['clone3', 'clone3', 0, 0, 0, 38],
      ['AF_NETLINK', 'socket', 16, 3, 0, 97],
      ['AF_PACKET', 'socket', 17, 3, 0, 97],
      ['AF_ALG', 'socket', 38, 5, 0, 97],
      ['AF_VSOCK', 'socket', 40, 1, 0, 97],
      ['AF_XDP', 'socket', 44, 3, 0, 97],
      ['raw AF_INET', 'socket', 2, 3, 255, 94],
      ['AF_INET', 'socket', 2, 1, 0, 0],
      ['AF_UNIX', 'socket', 1, 1, 0, 0],
      ['TIOCSTI', 'ioctl', 0, 0x5412, 0, 1],
      ['TIOCSTI, high bits set', 'ioctl', 0, 0x100005412, 0, 1],
      ['TIOCLINUX', 'ioctl', 0, 0x541c, 0, 1],
      ['personality', 'personality', 0x40000, 0, 0, 1],
      ['memfd that may be executed', 'memfd_create', 0, 1, 0, 38],
      ['fchmod to set-uid', 'fchmod', 1, 0o4755, 0, 1],
    ])('%s', async (_, name, a, b, c, errno) => {
      const outcome = await call([name, String(numbers[name]), String(a), String(b), String(c)]);
      expect(lines(outcome)).toEqual([`${name} ${errno}`]);
    });

    it.skipIf(process.arch !== 'x64')('x32 numbers are refused, 32-bit calls kill', async () => {
      expect(lines(await call(['getpid', String(0x40000000 + 39), '0', '0', '0']))).toEqual(['getpid 38']);
      expect((await call(['int80'])).end).toEqual({ kind: 'signaled', signal: 'SIGSYS' });
    });
  });
