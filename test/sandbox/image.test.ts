import { once } from 'node:events';
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findHelper } from '../../src/sandbox/helper.ts';
import { run } from '../../src/sandbox/index.ts';
import { binMount } from '../support/attack.ts';
import { BUBBLEWRAPS, type Subject } from '../support/drivers.ts';
import { MOUNTS, QUIET, specOf, text } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

for (const driver of BUBBLEWRAPS.filter(({ name }) => !/spare|without/.test(name)))
  describe.skipIf(driver.skip !== null)(`${driver.name}: an unpacked image as root`, () => {
    let subject: Subject;
    let root: string;
    beforeAll(async () => {
      subject = await driver.make();
      root = tempDir('image', 0o755);
      for (const name of ['app', 'usr/bin', 'etc', 'proc', 'tmp']) mkdirSync(join(root, name), { recursive: true });
      copyFileSync(findHelper() ?? '', join(root, 'app/program'));
      writeFileSync(join(root, 'etc/passwd'), 'image:x:1000:1000::/:/none\n');
      symlinkSync('usr/bin', join(root, 'bin'));
      // Where the spec mounts something: followed, the mount would cover the program.
      symlinkSync('/app', join(root, 'attack-bin'));
    });
    afterAll(() => subject?.close());
    const image = () => ({ kind: 'image', name: 'tiny', digest: '0'.repeat(64), root }) as const;

    it('runs a program of the image, names the image, and has nothing of the host', async () => {
      const outcome = await run(subject.sandbox, specOf(['/app/program', '--version'], { runtime: image() }), QUIET);
      expect(text(outcome)).toBe('skillbox-helper 11\n');
      expect(outcome.runtime).toMatchObject({ from: 'tiny@sha256:000000000000', path: '/app/program' });
      const missing = await run(subject.sandbox, specOf(['/usr/bin/bash', '-c', ':'], { runtime: image() }), QUIET);
      expect(missing.end).toEqual({ kind: 'exited', code: 127 });
    });

    it('says which image has no such program', async () => {
      await expect(run(subject.sandbox, specOf(['node', '/x.js'], { runtime: image() }), QUIET)).rejects.toMatchObject({
        code: 'RUNTIME_MISSING',
        message: 'The image tiny@sha256:000000000000 has no node where programs usually are.',
      });
    });

    it('holds the same as on the host, and no link of the image leads a mount elsewhere', async () => {
      const outcome = await run(
        subject.sandbox,
        specOf(['/app/program', 'probe'], { runtime: image(), mounts: [...MOUNTS, binMount()] }),
        QUIET,
      );
      expect(text(outcome)).toMatch(/CapBnd:\t0+\n(.|\n)*NoNewPrivs:\t1\nSeccomp:\t2\n/);
      expect(text(outcome)).toContain('interfaces: 1\nprocesses: 2\n');
    });

    it('what stands in the place of a mount of the run is not there, and its own /etc is', async () => {
      const script = { kind: 'text' as const, at: '/sandbox/input.json', text: '{}' };
      const mounts = [...MOUNTS, script, binMount()];
      const runtime = image();
      const listed = await run(
        subject.sandbox,
        specOf(['/attack-bin/look', '/', '/sandbox', '/etc'], { runtime, mounts }),
        QUIET,
      );
      expect([listed.end, text(listed)]).toEqual([
        { kind: 'exited', code: 0 },
        '/: .skillbox app attack-bin bin dev etc home proc root run sandbox tmp usr\n/sandbox: input.json out\n/etc: passwd\n',
      ]);
    });

    it('has the way out of its run, and nothing that the image put there', async () => {
      mkdirSync(join(root, 'way'), { recursive: true });
      writeFileSync(join(root, 'way/planted'), '');
      const socket = join(tempDir('way', 0o711), 'own.sock');
      const server = createServer(connection => connection.destroy()).listen(socket);
      await once(server, 'listening');
      subject.give(socket);
      try {
        const network = { kind: 'egress' as const, socket, at: '/way/out.sock' };
        const spec = specOf(['/attack-bin/look', '/way'], {
          runtime: image(),
          network,
          mounts: [...MOUNTS, binMount()],
        });
        expect(text(await run(subject.sandbox, spec, QUIET))).toBe('/way: out.sock\n');
      } finally {
        server.close();
      }
    });

    it('one that is not there is refused', async () => {
      await expect(
        run(
          subject.sandbox,
          specOf(['x'], { runtime: { kind: 'image', name: 'none', digest: '', root: '/nowhere' } }),
          QUIET,
        ),
      ).rejects.toMatchObject({ code: 'IMAGE_MISSING' });
    });
  });
