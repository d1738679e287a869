import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { resolveProgram } from '../../src/sandbox/runtime.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
const script = (path: string, text: string) => {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
};

it('a program of /usr needs no mount, and says its version', async () => {
  const bash = await resolveProgram('bash', [], tempDir('runtime'));
  expect(bash).toMatchObject({ mounts: [], bin: null, used: { name: 'bash', from: 'host' } });
  expect(bash.used.version).toMatch(/^\d+\.\d+\.\d+$/);
  expect(await resolveProgram('cat', [], tempDir('runtime'))).toMatchObject({ used: { version: null }, mounts: [] });
});

it('a shim is asked what it stands for, and its answer is not kept', async () => {
  const root = tempDir('runtime');
  const real = join(root, 'versions/9.9.9/bin/python3.9');
  const answer = `echo '["9.9.9","${real}","${join(root, 'versions/9.9.9')}"]'`;
  script(real, answer);
  script(join(root, 'shims/python3'), answer);
  const notes = join(root, 'notes');
  const python = await resolveProgram('python3', [join(root, 'shims')], notes);
  expect(python.used).toEqual({ name: 'python3', version: '9.9.9', from: 'host', path: real });
  // No standard library is there to be told apart.
  expect(python.mounts).toEqual([
    { source: real, at: real },
    { source: real, at: join(root, 'versions/9.9.9/bin/python3') },
  ]);
  expect(existsSync(notes)).toBe(false);
});

it('a Python comes without what else lies where it was installed to', async () => {
  const root = tempDir('runtime');
  const real = join(root, 'bin/python3.9');
  script(real, `echo '["9.9.9","${real}","${root}"]'`);
  script(join(root, 'bin/tool-with-token'), '');
  for (const path of ['lib/python9.9/os.py', 'lib/node_modules/x', 'share/skillbox/master.key', 'etc/pip.conf'])
    script(join(root, path), '');
  for (const name of ['libpython9.9.so.1.0', 'libother.so']) writeFileSync(join(root, 'lib', name), '');
  symlinkSync('libpython9.9.so.1.0', join(root, 'lib/libpython9.9.so'));
  symlinkSync('lib', join(root, 'lib64'));
  const parts = async (asked: string) => {
    const { mounts, bin } = await resolveProgram(asked, [join(root, 'bin')], tempDir('notes'));
    expect(bin).toBe(join(root, 'bin'));
    return mounts.map(({ source, at }) => {
      expect([at, join(root, 'bin', asked)]).toContain(source === real ? at : source);
      return at.slice(root.length + 1);
    });
  };
  symlinkSync('python3.9', join(root, 'bin/python3'));
  const library = ['lib/python9.9', 'lib/libpython9.9.so.1.0'];
  expect(await parts('python3.9')).toEqual(['bin/python3.9', ...library]);
  expect(await parts('python3')).toEqual(['bin/python3.9', 'bin/python3', ...library]);
  mkdirSync(join(root, 'conda-meta'));
  expect(await parts('python3')).toEqual(['bin/python3.9', 'bin/python3', 'lib']);
});

it('a node that was unpacked into a home comes alone', async () => {
  const root = tempDir('runtime');
  const real = join(root, '.local/bin/node');
  script(real, `echo '["24.0.0","${real}"]'`);
  script(join(root, '.local/lib/node_modules/npm/x'), '');
  const { mounts } = await resolveProgram('node', [join(root, '.local/bin')], tempDir('notes'));
  expect(mounts).toEqual([{ source: real, at: '/opt/skillbox/node/bin/node' }]);
});

it('a lone node comes alone, at a place of its own', async () => {
  const root = tempDir('runtime');
  const real = join(root, 'secret-neighbours/node');
  script(real, `echo '["24.0.0","${real}"]'`);
  const notes = join(root, 'notes');
  const node = await resolveProgram('node', [join(root, 'secret-neighbours')], notes);
  expect(node.mounts).toEqual([{ source: real, at: '/opt/skillbox/node/bin/node' }]);
  expect(node).toMatchObject({
    bin: '/opt/skillbox/node/bin',
    real,
    used: { path: '/opt/skillbox/node/bin/node', version: '24.0.0' },
  });
  expect(readdirSync(notes).length).toBe(1);
});

it('a broken one is passed over, and none at all is said', async () => {
  const root = tempDir('runtime');
  script(join(root, 'bin/bash'), 'exit 1');
  expect((await resolveProgram('bash', [join(root, 'bin')], root)).used.path).toBe('/usr/bin/bash');
  await expect(resolveProgram('no-such-thing', [], root)).rejects.toMatchObject({ code: 'RUNTIME_MISSING' });
});
