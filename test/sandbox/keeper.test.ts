import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { findHelper } from '../../src/sandbox/helper.ts';
import { createKeepers } from '../../src/sandbox/keeper.ts';
import { startLauncher } from '../../src/sandbox/launcher.ts';
import { slowCgroup } from '../support/slow-cgroup.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
const helper = findHelper();

describe.skipIf(helper === null)('the keeper of launchers', () => {
  const launch = async (homes: string) => {
    const keepers = createKeepers(homes);
    const launcher = await startLauncher(keepers.of(helper ?? ''), async () => []);
    return { keepers, launcher };
  };

  test('a launcher that cannot join its cgroups is told as such', async () => {
    const keepers = createKeepers(tempDir('keepers'));
    const joining = startLauncher(keepers.of(helper ?? ''), async () => ['join', '/nosuch/cgroup.procs']);
    await expect(joining).rejects.toMatchObject({
      code: 'SANDBOX_FAILED',
      message: expect.stringContaining('/nosuch'),
    });
    await keepers.close();
  });

  test('a launcher that is not in its cgroups yet is waited for', async () => {
    const { procs, letIn } = slowCgroup();
    const keepers = createKeepers(tempDir('keepers'));
    const starting = startLauncher(keepers.of(helper ?? ''), async () => ['join', procs]);
    expect(await Promise.race([starting.then(() => 'given'), sleep(300, 'waited for')])).toBe('waited for');
    letIn();
    const launcher = await starting;
    launcher.kill();
    await launcher.gone;
    await keepers.close();
  });

  test('a launcher that fails to join late is told as such', async () => {
    const { procs, letIn } = slowCgroup();
    const keepers = createKeepers(tempDir('keepers'));
    const starting = startLauncher(keepers.of(helper ?? ''), async () => [
      'join',
      procs,
      'join',
      '/nosuch/cgroup.procs',
    ]);
    const told = expect(starting).rejects.toMatchObject({ message: expect.stringContaining('/nosuch') });
    await sleep(300); // it has said by now that it stands
    letIn();
    await told;
    await keepers.close();
  });

  test('lives in a directory that nobody else may enter, and takes it away at its end', async () => {
    const homes = join(tempDir('keeper'), 'keepers');
    const { keepers, launcher } = await launch(homes);
    const [home = ''] = readdirSync(homes);
    expect(statSync(join(homes, home)).mode & 0o777).toBe(0o700);
    launcher.kill();
    await launcher.gone;
    await keepers.close();
    expect(readdirSync(homes)).toEqual([]);
  });

  test('takes a path that is longer than a socket address', async () => {
    const homes = join(tempDir('keeper'), 'a-long-name-of-a-directory'.repeat(6), 'keepers');
    const { keepers, launcher } = await launch(homes);
    launcher.kill();
    await launcher.gone;
    await keepers.close();
  });

  test('a launcher without its run ends when its channel closes', async () => {
    const { keepers, launcher } = await launch(join(tempDir('keeper'), 'keepers'));
    launcher.kill();
    await launcher.gone;
    expect(launcher.ended()).toBe(true);
    await keepers.close();
  });

  test('its end is the end of every launcher, and the next one is a new keeper', async () => {
    const homes = join(tempDir('keeper'), 'keepers');
    const { keepers, launcher } = await launch(homes);
    const pid = keeperPid();
    process.kill(pid, 'SIGKILL');
    await launcher.gone;
    await sleep(20);
    expect(existsSync(`/proc/${pid}/exe`)).toBe(false);
    const next = await startLauncher(keepers.of(helper ?? ''), async () => []);
    expect(next.ended()).toBe(false);
    next.kill();
    await next.gone;
    await keepers.close();
  });

  test('killed at a bad moment: whoever wants something of it is answered, and not left waiting', async () => {
    const { keepers, launcher } = await launch(join(tempDir('keeper'), 'keepers'));
    const keeper = keepers.of(helper ?? '');
    process.kill(keeperPid(), 'SIGKILL');
    const answers: Promise<string>[] = [];
    for (let turn = 0; turn < 200; turn++) {
      const told = keeper.unmount('/nowhere/at/all').then(
        () => 'done',
        () => 'told',
      );
      answers.push(Promise.race([told, sleep(4000).then(() => 'left waiting')]));
      await new Promise(resolve => setImmediate(resolve));
    }
    expect(await Promise.all(answers)).not.toContain('left waiting');
    await launcher.gone;
    await keepers.close();
  });

  test('what cannot be unmounted is told; what is not mounted is no fault', async () => {
    const keepers = createKeepers(join(tempDir('keeper'), 'keepers'));
    const keeper = keepers.of(helper ?? '');
    await keeper.unmount('/nowhere/at/all');
    await expect(keeper.unmount(`/${'x'.repeat(5000)}`)).rejects.toThrow('cannot be unmounted');
    await keepers.close();
  });

  test('a helper that is not there is a typed error', async () => {
    const keepers = createKeepers(join(tempDir('keeper'), 'keepers'));
    await expect(startLauncher(keepers.of('/nowhere/helper'), async () => [])).rejects.toMatchObject({
      code: 'SANDBOX_FAILED',
    });
  });

  /** A run whose PID 1 has told how it ended, and then does this. */
  const told = async (then: string) => {
    const { keepers, launcher } = await launch(tempDir('keepers'));
    // Not in /tmp: as root that is where a launcher builds.
    const directory = tempDir('fake', 0o755, '/var/tmp');
    const bwrap = join(directory, 'bwrap');
    const script = `cd ${directory}; (${then}) 4>&- & echo "{\\"child-pid\\": $!}" >&4; echo exited 0 >&3; wait`;
    writeFileSync(bwrap, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const ended = new Promise<void>(resolve => {
      launcher.onEnded(resolve);
    });
    launcher.send(['exec', bwrap, 'arguments', '']);
    await ended;
    return { keepers, launcher, directory };
  };

  test.each([
    ['goes by itself is waited for', '(exit 0) 3>&-', 0],
    ['does not go is killed', 'exec sleep 60 3>&-', 1000],
  ])('PID 1 of a run that has ended and %s', async (_, then, least) => {
    const { keepers, launcher } = await told(then);
    const before = performance.now();
    await launcher.end();
    const took = performance.now() - before;
    expect(took).toBeGreaterThan(least - 20);
    expect(took).toBeLessThan(least + 10_000);
    await keepers.close();
  });

  test('PID 1 of a run that has ended and stays for a moment is hung up on, and goes by itself', async () => {
    const { keepers, launcher, directory } = await told('cat <&3; echo hung up > word');
    await launcher.end();
    expect(readFileSync(join(directory, 'word'), 'utf8')).toBe('hung up\n');
    await keepers.close();
  });
});

/** The youngest child of this process that is a keeper. */
function keeperPid(): number {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim().split(' ');
  const keeper = children.findLast(pid => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('\0keep\0'));
  if (keeper === undefined) throw new Error('there is no keeper');
  return Number(keeper);
}
