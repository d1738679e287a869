import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run } from '../fake-io.ts';
import { file, link, makeTar } from '../images/make-tar.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const base = writeFiles(tempDirectory(), {
  'good.tar': makeTar([file('bin/tool', 'x', 0o4755), { name: 'dev/null', type: '3' }]),
  'evil.tar': makeTar([link('out', '/tmp'), file('out/x')]),
});
const env = { SKILLBOX_DATA_DIR: join(base, 'data') };
const image = (...words: string[]) => run(['image', ...words], { env, cwd: base });

describe('X-14 skillbox image', () => {
  test('imports, lists and removes', async () => {
    expect((await image('list')).err).toContain('no images yet');
    const imported = await image('import', 'tools', 'good.tar');
    expect(imported).toMatchObject({ code: 0, out: expect.stringMatching(/tools:latest 1 B sha256:[0-9a-f]{64}/) });
    expect(imported.err).toContain('1 device nodes and FIFOs were left out');
    expect(imported.err).toContain('1 files lost their setuid');
    expect((await image('list')).out).toMatch(/tools:latest +1 B {2}sha256:\w{12} {2}[\d-]+ [\d:]+ {2}\/.*good\.tar/);
    expect(JSON.parse((await image('list', '--json')).out).images).toEqual([
      {
        name: 'tools:latest',
        digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        bytes: 1,
        entries: 3,
        source: join(base, 'good.tar'),
        form: 'rootfs',
        created: expect.any(String),
      },
    ]);
    expect(await image('remove', 'tools')).toMatchObject({ code: 0, out: 'removed tools:latest\n' });
    expect(await image('remove', 'tools')).toMatchObject({ code: 5 });
  });

  test('refuses with a code, a reason and an exit code', async () => {
    const refused = await image('import', 'tools', 'evil.tar', '--json');
    expect(refused.code).toBe(3);
    expect(JSON.parse(refused.out)).toMatchObject({ error: 'IMAGE_UNSAFE', details: { reason: 'link-parent' } });
    expect((await image('import', 'tools', 'none.tar')).code).toBe(5);
    expect((await image('import', '../tools', 'good.tar')).code).toBe(2);
    expect((await image('import', 'tools')).code).toBe(2);
  });
});
