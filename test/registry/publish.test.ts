import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { REGISTRY_LIMITS } from '../../src/registry/index.ts';
import { digestFolder, openDirectory } from '../../src/skill/index.ts';
import { makeZip } from '../skill/make-zip.ts';
import { run } from '../skill/scratch.ts';
import { bytesOf, readAll } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';
import { ground, plainZip, publish, refused, skillItems, skillZip } from './make.ts';

tidy();

describe('publish', () => {
  test('a zip becomes a version that comes back with the same bytes, by whom and when', async () => {
    const { as, directory } = ground();
    const before = Date.now();
    const zip = skillZip();
    const { skill, created, warnings } = await publish(as('a', 'key-7'), zip, { tags: ['stable'] });
    expect([created, warnings]).toEqual([true, []]);
    expect(skill).toMatchObject({
      name: 'word-count',
      version: '1.0.0',
      dialect: 'skillbox',
      publishedBy: 'key-7',
      yanked: null,
      tags: ['stable'],
      archive: { bytes: zip.length },
    });
    expect(skill.publishedAt).toBeGreaterThanOrEqual(before);
    const { skill: same, content } = await as('a').download('word-count', null);
    expect(same).toEqual(skill);
    expect((await readAll(content as AsyncIterable<Buffer>)).equals(zip)).toBe(true);
    expect(readdirSync(join(directory, 'uploads'))).toEqual([]);
  });

  test('SB-01/13 a plain zip -r of the folder, inside the folder, and ours have one digest', async () => {
    const base = tempDir('zips');
    const files = Object.fromEntries(skillItems().map(({ name, content }) => [String(name), String(content)]));
    writeFiles(join(base, 'word-count'), files);
    run('zip', ['-qr', 'outer.zip', 'word-count'], base);
    run('zip', ['-qr', '../inner.zip', '.'], join(base, 'word-count'));
    const registry = ground().as('a');
    const outer = await publish(registry, readFileSync(join(base, 'outer.zip')));
    const inner = await publish(registry, readFileSync(join(base, 'inner.zip')));
    expect(outer.skill.digest).toBe(await digestFolder(openDirectory(join(base, 'word-count'))));
    expect([outer.created, inner.created]).toEqual([true, false]);
    expect(inner.skill).toEqual(outer.skill);
  });

  test('the same content again is no fault and adds nothing; other content of the version is 409', async () => {
    const { as, store } = ground();
    const registry = as('a');
    const first = await publish(registry, skillZip());
    const again = await publish(registry, makeZip([...skillItems()].reverse()), { tags: ['stable'] });
    expect([again.created, again.skill.digest, again.skill.archive]).toEqual([
      false,
      first.skill.digest,
      first.skill.archive,
    ]);
    expect(again.skill.tags).toEqual(['stable']);
    const error = await refused(publish(registry, skillZip({ body: 'Other.' })), 'VERSION_EXISTS');
    expect([error.status, error.details.published]).toEqual([409, first.skill.digest]);
    expect((await store.journal.heads()).map(({ seq }) => seq)).toEqual([2]);
  });

  test('of two that publish one version at the same time, one has it and the other is told so', async () => {
    const { as } = ground();
    for (const version of ['1.0.0', '2.0.0', '3.0.0', '4.0.0']) {
      const both = await Promise.allSettled(
        ['a', 'b', 'c', 'd'].map(body => publish(as('a'), skillZip({ version, body }))),
      );
      const won = both.filter(one => one.status === 'fulfilled');
      expect(won).toHaveLength(1);
      for (const one of both) if (one.status === 'rejected') expect(one.reason.code).toBe('VERSION_EXISTS');
      expect((await as('a').resolve('word-count', version)).digest).toBe(won[0]?.value.skill.digest);
    }
  });

  test('the same content by two at once is created once', async () => {
    const { as } = ground();
    const both = await Promise.all([publish(as('a'), skillZip()), publish(as('a'), skillZip())]);
    expect(both.filter(one => one.created)).toHaveLength(1);
  });

  test('every error of strict reading refuses it, with the diagnostics', async () => {
    const { as, expectUntouched } = ground();
    const zip = makeZip([{ name: 'SKILL.md', content: '---\nname: Bad Name\nversion: 1.0\nlang: python\n---\nx\n' }]);
    const error = await refused(publish(as('a'), zip), 'INVALID_SKILL');
    expect(error.status).toBe(422);
    const codes = (error.details.diagnostics as { code: string; severity: string }[]).map(({ code }) => code);
    expect(codes).toEqual(expect.arrayContaining(['name-invalid', 'description-missing', 'version-not-semver']));
    await refused(publish(as('a'), makeZip([{ name: 'README.md', content: 'x' }])), 'INVALID_SKILL');
    await refused(publish(as('a'), makeZip([])), 'INVALID_SKILL');
    // One that a lenient reader would load.
    const loads = makeZip([{ name: 'other/SKILL.md', content: '---\nname: plain\ndescription: Does it.\n---\nx\n' }]);
    const strict = await refused(publish(as('a'), loads, { version: '1.0.0' }), 'INVALID_SKILL');
    expect(strict.details.diagnostics).toMatchObject([{ code: 'name-folder-mismatch', severity: 'error' }]);
    await expectUntouched();
  });

  test('warnings do not refuse it, and are told', async () => {
    const zip = skillZip({ files: [{ name: 'skills/inner/SKILL.md', content: '---\nname: inner\n---\n' }] });
    const { warnings } = await publish(ground().as('a'), zip);
    expect(warnings.map(({ code }) => code)).toContain('nested-skill');
  });

  test("SB-03 an image outside the operator's list is refused, a default one too where it is not on it", async () => {
    const { as, parts, expectUntouched } = ground();
    const error = await refused(publish(as('a'), skillZip({ image: 'evil:latest' })), 'IMAGE_NOT_ALLOWED');
    expect(error.details).toEqual({ image: 'evil:latest' });
    await expectUntouched();
    parts.allowsImage = image => image === 'team/tools:1';
    await refused(publish(as('a'), skillZip()), 'IMAGE_NOT_ALLOWED');
    expect((await publish(as('a'), skillZip({ image: 'team/tools:1' }))).created).toBe(true);
  });

  test('a skill without a version needs one, and one with a version takes no other', async () => {
    const registry = ground().as('a');
    const error = await refused(publish(registry, plainZip('plain', null)), 'VERSION_MISSING');
    expect(error.hint).toContain('metadata.version');
    expect((await publish(registry, plainZip('plain', null), { version: '1.2.3' })).skill.version).toBe('1.2.3');
    expect((await publish(registry, plainZip('own', '2.0.0'))).skill.version).toBe('2.0.0');
    expect((await publish(registry, plainZip('own', '2.0.0'), { version: '2.0.0' })).created).toBe(false);
    await refused(publish(registry, plainZip('own', '2.0.0'), { version: '2.0.1' }), 'USAGE');
    await refused(publish(registry, plainZip('other', '1.0')), 'VERSION_MISSING');
  });
});

describe('limits of publishing', () => {
  test('an archive over the limit is cut off while it comes, and nothing of it stays', async () => {
    const { as, expectUntouched } = ground({ limits: { ...REGISTRY_LIMITS, maxArchiveBytes: 1000 } });
    let sent = 0;
    const endless = async function* () {
      for (;;) {
        sent += 400;
        yield Buffer.alloc(400);
      }
    };
    await refused(as('a').publish(endless(), { tags: [], version: null }), 'ARCHIVE_TOO_LARGE');
    expect(sent).toBe(1200);
    await expectUntouched();
  });

  test('what the archive holds, its files and versions and names are bounded', async () => {
    const files = Array.from({ length: 5 }, (_, at) => ({ name: `f${at}`, content: 'x'.repeat(1000) }));
    const small = ground({ limits: { ...REGISTRY_LIMITS, maxBytes: 4000 } });
    await refused(publish(small.as('a'), skillZip({ files })), 'ARCHIVE_TOO_LARGE');
    await small.expectUntouched();
    const few = ground({ limits: { ...REGISTRY_LIMITS, maxFiles: 6 } });
    await refused(publish(few.as('a'), skillZip({ files })), 'ARCHIVE_TOO_LARGE');
    const { as } = ground({ limits: { ...REGISTRY_LIMITS, maxVersions: 2, maxNames: 2, maxTags: 1 } });
    for (const version of ['1.0.0', '1.1.0']) await publish(as('a'), skillZip({ version }));
    await refused(publish(as('a'), skillZip({ version: '1.2.0' })), 'QUOTA_EXCEEDED');
    expect((await publish(as('a'), skillZip({ version: '1.0.0' }))).created).toBe(false);
    await publish(as('a'), skillZip({ name: 'second' }));
    await refused(publish(as('a'), skillZip({ name: 'third' })), 'QUOTA_EXCEEDED');
    expect((await publish(as('b'), skillZip({ name: 'third' }))).created).toBe(true);
    await refused(publish(as('b'), skillZip({ name: 'third' }), { tags: ['x1', 'y1'] }), 'USAGE');
  });

  test('where a tenant has no room left, nothing is stored, and what is there can be published again', async () => {
    const { as, parts, store } = ground();
    const { length } = skillZip();
    await publish(as('a'), skillZip());
    parts.hold = async ({ tenant }, bytes) => {
      if (tenant === 'a' && bytes > length - 1) throw new SkillboxError('QUOTA_EXCEEDED', 'no room');
      return () => undefined;
    };
    const error = await refused(publish(as('a'), skillZip({ version: '1.0.1' })), 'QUOTA_EXCEEDED');
    expect(error.status).toBe(507);
    expect((await publish(as('a'), skillZip())).created).toBe(false);
    const files = skillItems().reduce((sum, { content = '' }) => sum + content.length, 0);
    expect(await store.skills.usage('a')).toEqual({ names: 1, bytes: length + files });
    expect((await publish(as('b'), skillZip({ version: '1.0.1' }))).created).toBe(true);
  });

  test('an upload that breaks off leaves nothing', async () => {
    const { as, expectUntouched } = ground();
    const broken = async function* () {
      yield skillZip().subarray(0, 100);
      throw new Error('the connection was closed');
    };
    await expect(as('a').publish(broken(), { tags: [], version: null })).rejects.toThrow('the connection was closed');
    await refused(as('a').publish(bytesOf(), { tags: [], version: null }), 'ARCHIVE_UNSAFE');
    await expectUntouched();
  });
});
