import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openEngine } from '../../src/sandbox/docker-api.ts';
import { askEngine } from '../../src/sandbox/docker-engine.ts';
import { createDocker, DEFAULT_UIDS, run, thisOwner } from '../../src/sandbox/index.ts';
import { newId } from '../../src/sandbox/owner.ts';
import { sandboxContract } from '../contracts/sandbox.ts';
import { DOCKER, DOCKER_SOCKET, engineDriver, PODMAN, PODMAN_SOCKET } from '../support/drivers.ts';
import { skipUnless } from '../support/require.ts';
import { QUIET, specOf, text } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
sandboxContract(DOCKER);
sandboxContract(PODMAN);

const dockerWith = (changes: Partial<Parameters<typeof createDocker>[0]>) => {
  const stateDir = tempDir('docker');
  const uids = { ...DEFAULT_UIDS, locks: stateDir };
  const defaultImage = process.env.SKILLBOX_DOCKER_IMAGE ?? 'skillbox-test';
  return createDocker({ socket: DOCKER_SOCKET, stateDir, uids, defaultImage, runtime: null, helper: null, ...changes });
};

for (const [driver, socket, command] of [
  [DOCKER, DOCKER_SOCKET, 'docker'],
  [PODMAN, PODMAN_SOCKET, 'podman'],
] as const)
  describe.skipIf(driver.skip !== null)(
    `${driver.name}${driver.skip === null ? '' : ` (skipped: ${driver.skip})`}: what it is told`,
    () => {
      it('an image whose files are not there is refused, and a missing default says how to get it', async () => {
        const subject = await driver.make();
        const { sandbox } = subject;
        await expect(
          sandbox.prepare(specOf(['true'], { runtime: { kind: 'image', name: 'evil', digest: '', root: '' } })),
        ).rejects.toMatchObject({ code: 'IMAGE_MISSING' });
        await subject.close();
        expect(await dockerWith({ socket, defaultImage: 'no/such:image' }).check()).toEqual([
          {
            what: 'the image no/such:image is not there',
            fix: `${command} pull no/such:image, or name another with SKILLBOX_DOCKER_IMAGE`,
            fatal: true,
          },
        ]);
      });

      it('a container without a living owner is swept, a living one is not', async () => {
        const subject = await driver.make();
        const { sandbox } = subject;
        const engine = openEngine(socket);
        const dead = newId({ ...thisOwner(), instance: '000000000000', pid: 1, startTime: 1 });
        const image = process.env.SKILLBOX_DOCKER_IMAGE ?? 'skillbox-test';
        await engine.call('POST', `/containers/create?name=${dead}`, {
          Image: image,
          Cmd: ['true'],
          Labels: { 'dev.skillbox.run': dead },
          HostConfig: { NetworkMode: 'none' },
        });
        const alive = await sandbox.prepare(specOf(['true']));
        expect(await sandbox.sweep()).toContain(dead);
        expect((await alive.start(QUIET)).end).toEqual({ kind: 'exited', code: 0 });
        await alive.dispose();
        await subject.close();
      });

      it('the files of /etc that an engine writes say nothing of the host', async () => {
        const subject = await driver.make();
        const script = 'cat /etc/hosts; echo -; cat /etc/resolv.conf; echo -; cat /etc/hostname; hostname';
        const outcome = await run(subject.sandbox, specOf(['bash', '-c', script]), QUIET);
        expect(text(outcome)).toBe('127.0.0.1\tlocalhost sandbox\n::1\tlocalhost\n-\n-\nsandbox\nsandbox\n');
        await subject.close();
      });

      it('a container that somebody else kills is a run that was killed, not a fault of ours', async () => {
        const subject = await driver.make();
        const handle = await subject.sandbox.prepare(specOf(['bash', '-c', 'echo up; sleep 60']));
        const engine = openEngine(socket);
        const onChunk = () => void engine.call('POST', `/containers/${handle.id}/kill?signal=SIGKILL`);
        const outcome = await handle.start({ ...QUIET, onChunk });
        expect(outcome.end).toEqual({ kind: 'signaled', signal: 'SIGKILL' });
        expect(text(outcome)).toBe('up\n');
        await handle.dispose();
        await subject.close();
      });

      it('a runtime that the engine would not use is refused, with the way to get it', async () => {
        const sandbox = dockerWith({ socket, runtime: 'no-such-runtime' });
        await expect(sandbox.prepare(specOf(['true']))).rejects.toMatchObject({
          code: 'SANDBOX_UNAVAILABLE',
          message: expect.stringContaining('no-such-runtime'),
          hint: expect.stringContaining('SKILLBOX_DOCKER_RUNTIME'),
        });
        expect(sandbox.enforces.size).toBe(0);
      });
    },
  );

it.skipIf(PODMAN.skip !== null)('Podman takes a request for another runtime and ignores it: refused', async () => {
  const { runtimes, defaultRuntime, kind } = await askEngine(openEngine(PODMAN_SOCKET));
  expect(kind).toBe('podman');
  const other = runtimes.find(name => name !== defaultRuntime) ?? 'another';
  expect(await dockerWith({ socket: PODMAN_SOCKET, runtime: other }).check()).toEqual([
    {
      what: `Podman runs everything with ${defaultRuntime}, not with ${other}`,
      fix: expect.stringContaining(`runtime = "${other}"`),
      fatal: true,
    },
  ]);
  const same = (await dockerWith({ socket: PODMAN_SOCKET, runtime: defaultRuntime }).check()).filter(one => one.fatal);
  expect(same).toEqual([]);
});

/** A second OCI runtime, under a name that only its registration explains. */
const CRUN = 'skillbox-crun';
const noCrun = DOCKER.skip ?? skipUnless(existsSync('/usr/bin/crun'), 'crun', 'crun is not installed');
sandboxContract(engineDriver('docker with crun', DOCKER_SOCKET, CRUN, noCrun));

it.skipIf(noCrun !== null)('the runtime that the configuration names is the one that runs', async () => {
  const engine = openEngine(DOCKER_SOCKET);
  const subject = await engineDriver('docker', DOCKER_SOCKET, CRUN, null).make();
  const handle = await subject.sandbox.prepare(specOf(['true']));
  const made = await engine.call<{ HostConfig: { Runtime: string } }>('GET', `/containers/${handle.id}/json`);
  expect(made.HostConfig.Runtime).toBe(CRUN);
  expect((await handle.start(QUIET)).end).toEqual({ kind: 'exited', code: 0 });
  await handle.dispose();
  await subject.close();
});

it('no engine: refused, with what to do', async () => {
  const sandbox = dockerWith({ socket: '/nowhere/docker.sock', defaultImage: 'x' });
  expect((await sandbox.check())[0]).toMatchObject({
    fatal: true,
    what: expect.stringContaining('/nowhere/docker.sock'),
    fix: expect.stringContaining('podman.socket'),
  });
  await expect(sandbox.prepare(specOf(['true']))).rejects.toMatchObject({ code: 'SANDBOX_UNAVAILABLE' });
});
