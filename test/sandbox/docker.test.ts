import { describe, expect, it } from 'vitest';
import { openEngine } from '../../src/sandbox/docker-api.ts';
import { createDocker, DEFAULT_UIDS, thisOwner } from '../../src/sandbox/index.ts';
import { newId } from '../../src/sandbox/owner.ts';
import { sandboxContract } from '../contracts/sandbox.ts';
import { DOCKER, DOCKER_SOCKET } from '../support/drivers.ts';
import { QUIET, specOf } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
sandboxContract(DOCKER);

describe.skipIf(DOCKER.skip !== null)(
  `docker${DOCKER.skip === null ? '' : ` (skipped: ${DOCKER.skip})`}: what it is told`,
  () => {
    it('an image whose files are not there is refused, and a missing default says how to get it', async () => {
      const subject = await DOCKER.make();
      const { sandbox } = subject;
      await expect(
        sandbox.prepare(specOf(['true'], { runtime: { kind: 'image', name: 'evil', digest: '', root: '' } })),
      ).rejects.toMatchObject({ code: 'IMAGE_MISSING' });
      await subject.close();
      const stateDir = tempDir('docker');
      const other = createDocker({
        socket: DOCKER_SOCKET,
        stateDir,
        uids: { ...DEFAULT_UIDS, locks: stateDir },
        defaultImage: 'no/such:image',
        runtime: null,
        helper: null,
      });
      expect(await other.check()).toEqual([
        {
          what: 'the image no/such:image is not there',
          fix: 'docker pull no/such:image, or name another with SKILLBOX_DOCKER_IMAGE',
          fatal: true,
        },
      ]);
    });

    it('a container without a living owner is swept, a living one is not', async () => {
      const subject = await DOCKER.make();
      const { sandbox } = subject;
      const engine = openEngine(DOCKER_SOCKET);
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
  },
);

it('no engine: refused, with what to do', async () => {
  const stateDir = tempDir('docker');
  const sandbox = createDocker({
    socket: '/nowhere/docker.sock',
    stateDir,
    uids: { ...DEFAULT_UIDS, locks: stateDir },
    defaultImage: 'x',
    runtime: null,
    helper: null,
  });
  expect((await sandbox.check())[0]).toMatchObject({
    fatal: true,
    what: expect.stringContaining('/nowhere/docker.sock'),
  });
  await expect(sandbox.prepare(specOf(['true']))).rejects.toMatchObject({ code: 'SANDBOX_UNAVAILABLE' });
});
