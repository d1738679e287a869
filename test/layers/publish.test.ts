import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { publishTree } from '../../src/layers/publish.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

/** What a build left in its sandbox, and the places it goes through. */
function built(files: Record<string, string>) {
  const root = tempDir('publish');
  const source = writeFiles(join(root, 'out'), files);
  return { source, aside: join(root, 'aside'), target: join(root, 'layer') };
}
const publish = ({ source, aside, target }: ReturnType<typeof built>) =>
  publishTree(source, 'node_modules', aside, target, { key: 'x' });

describe('a layer is published', () => {
  test('SB-07 whole, with links inside, without write and set-id bits', async () => {
    const places = built({ 'a/index.js': '1', 'a/cli.js*': '2' });
    mkdirSync(join(places.source, '.bin'));
    symlinkSync('../a/cli.js', join(places.source, '.bin/a'));
    chmodSync(join(places.source, 'a/cli.js'), 0o6777);
    await publish(places);
    const inside = (path: string) => join(places.target, 'node_modules', path);
    expect(readFileSync(inside('.bin/a'), 'utf8')).toBe('2');
    expect(lstatSync(inside('a/cli.js')).mode & 0o7777).toBe(0o555);
    expect(lstatSync(inside('a/index.js')).mode & 0o7777).toBe(0o444);
    expect(lstatSync(inside('a')).mode & 0o7777).toBe(0o755);
    expect(existsSync(places.aside)).toBe(false);
  });

  test.each(['/etc/passwd', '../../../etc/passwd', '../..', 'b/../../..'])(
    'SB-07 not with a link to %s',
    async target => {
      const places = built({ 'a/index.js': '1' });
      symlinkSync(target, join(places.source, 'a/link'));
      await expect(publish(places)).rejects.toMatchObject({ code: 'DEPENDENCIES_FAILED' });
      expect(existsSync(places.target)).toBe(false);
    },
  );

  test('SB-07 not with a link that turns back behind another one, whose place decides where it leads', async () => {
    const places = built({ 'a/b/index.js': '1' });
    symlinkSync('..', join(places.source, 'a/b/up'));
    symlinkSync('a/b/up/../../../etc', join(places.source, 'link'));
    await expect(publish(places)).rejects.toThrow('links to a/b/up/../../../etc');
    expect(existsSync(places.target)).toBe(false);
  });

  test('SB-07 not with a name that is no text: the build is at fault, and no path of ours is told', async () => {
    const places = built({ 'a/index.js': '1' });
    writeFileSync(Buffer.concat([Buffer.from(join(places.source, 'a/')), Buffer.from([0x62, 0xff, 0xfe])]), '');
    const fault = await publish(places).catch((error: unknown) => error);
    expect(fault).toMatchObject({
      code: 'DEPENDENCIES_FAILED',
      message: 'the build left what cannot be read (ENOENT)',
    });
    expect(existsSync(places.target)).toBe(false);
  });

  test('SB-07 not with what is neither file, directory nor link', async () => {
    const places = built({ 'a/index.js': '1' });
    execFileSync('mkfifo', [join(places.source, 'a/pipe')]);
    await expect(publish(places)).rejects.toMatchObject({ code: 'DEPENDENCIES_FAILED' });
    expect(existsSync(places.target)).toBe(false);
  });

  test('SB-07 once: who comes second leaves what is there', async () => {
    const first = built({ 'a/index.js': 'first' });
    await publish(first);
    const second = { ...built({ 'a/index.js': 'second' }), target: first.target };
    await publish(second);
    expect(readFileSync(join(first.target, 'node_modules/a/index.js'), 'utf8')).toBe('first');
    expect(existsSync(second.aside)).toBe(false);
  });
});
