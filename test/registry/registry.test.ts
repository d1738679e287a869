import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readManifest } from '../../src/registry/manifest.ts';
import type { SkillService } from '../../src/service/index.ts';
import type { Store } from '../../src/store/index.ts';
import { readAll } from '../support/record.ts';
import { tidy } from '../support/temp.ts';
import { ground, plainZip, publish, refused, skillZip } from './make.ts';

tidy();

const add = (registry: SkillService, name: string, version: string, description?: string, tags: string[] = []) =>
  publish(registry, skillZip({ name, version, ...(description === undefined ? {} : { description }) }), { tags });
const names = async (registry: SkillService, filter: { query?: string; tag?: string; limit?: number } = {}) => {
  const { query = null, tag = null, limit = 50 } = filter;
  return (await registry.list({ query, tag, limit, after: null })).items.map(one => `${one.name}@${one.version}`);
};

type Told = { type: string; subject: string | null; data: object; chain: string };

async function eventsOf(store: Store): Promise<Told[]> {
  const events: Told[] = [];
  for await (const one of store.journal.walk()) if (one.kind === 'entry') events.push(JSON.parse(one.body) as Told);
  return events;
}

describe('versions of a skill', () => {
  test('SB-04 latest, ranges and tags name the version and digest that they stand for', async () => {
    const registry = ground().as('a');
    for (const version of ['1.0.0', '1.2.0', '2.0.0-rc.1', '1.10.0']) await add(registry, 'word-count', version);
    await registry.tag('word-count', 'stable', '1.0.0');
    const version = async (wanted: string | null) => (await registry.resolve('word-count', wanted)).version;
    expect(await version(null)).toBe('1.10.0');
    expect(await version('latest')).toBe('1.10.0');
    expect(await version('~1.2')).toBe('1.2.0');
    expect(await version('stable')).toBe('1.0.0');
    expect(await version('2.0.0-rc.1')).toBe('2.0.0-rc.1');
    await refused(registry.resolve('word-count', '^3'), 'NOT_FOUND');
    expect((await registry.versions('word-count')).map(one => one.version)).toEqual([
      '2.0.0-rc.1',
      '1.10.0',
      '1.2.0',
      '1.0.0',
    ]);
  });

  test('a yank withdraws, deletes nothing, and can be taken back', async () => {
    const { as, store } = ground();
    const registry = as('a');
    for (const version of ['1.0.0', '2.0.0'])
      await add(registry, 'word-count', version, undefined, [`v${version[0]}-x`]);
    const yanked = await registry.yank('word-count', '2.0.0', 'it counts wrong');
    expect(yanked.yanked).toMatchObject({ reason: 'it counts wrong' });
    expect((await registry.resolve('word-count', null)).version).toBe('1.0.0');
    expect((await registry.resolve('word-count', '2.0.0')).yanked).toEqual(yanked.yanked);
    expect((await refused(registry.resolve('word-count', 'v2-x'), 'NOT_FOUND')).message).toContain('withdrawn');
    await registry.download('word-count', '2.0.0');
    expect(await names(registry)).toEqual(['word-count@1.0.0']);
    await registry.yank('word-count', '1.0.0', '');
    expect(await names(registry)).toEqual([]);
    await refused(registry.resolve('word-count', null), 'NOT_FOUND');
    expect((await registry.versions('word-count')).map(one => one.yanked !== null)).toEqual([true, true]);
    // Publishing the same content again does not bring it back.
    expect((await add(registry, 'word-count', '1.0.0')).skill.yanked).not.toBeNull();
    expect((await registry.unyank('word-count', '2.0.0')).yanked).toBeNull();
    expect((await registry.resolve('word-count', null)).version).toBe('2.0.0');
    expect(await store.skills.usage('a')).toMatchObject({ names: 1 });
    await refused(registry.yank('word-count', '^2', ''), 'NOT_FOUND');
    await refused(registry.yank('word-count', '2.0.0', 'x'.repeat(2000)), 'USAGE');
  });

  test('every change is told once, by whom, for the tenant', async () => {
    const { as, store } = ground();
    const registry = as('a', 'key-9');
    const { skill } = await add(registry, 'word-count', '1.0.0', undefined, ['stable']);
    await add(registry, 'word-count', '2.0.0');
    await registry.tag('word-count', 'stable', '2.0.0');
    await registry.tag('word-count', 'stable', '2.0.0');
    await add(registry, 'word-count', '3.0.0', undefined, ['stable']);
    await registry.untag('word-count', 'stable');
    await refused(registry.untag('word-count', 'stable'), 'NOT_FOUND');
    for (const _ of [1, 2]) await registry.yank('word-count', '1.0.0', 'why');
    for (const _ of [1, 2]) await registry.unyank('word-count', '1.0.0');
    const events = await eventsOf(store);
    expect(events.map(({ type, subject }) => `${type} ${subject}`)).toEqual([
      'skill.published word-count@1.0.0',
      'skill.tagged word-count@1.0.0',
      'skill.published word-count@2.0.0',
      'skill.tagged word-count@2.0.0',
      'skill.published word-count@3.0.0',
      'skill.tagged word-count@3.0.0',
      'skill.untagged word-count@3.0.0',
      'skill.yanked word-count@1.0.0',
      'skill.unyanked word-count@1.0.0',
    ]);
    expect(events[0]).toMatchObject({
      actor: { id: 'key-9', channel: 'api' },
      data: { digest: skill.digest, archive: skill.archive.sha256, publisher: 'key-9' },
    });
    expect(events[3]?.data).toMatchObject({ tag: 'stable', before: '1.0.0' });
    expect(events[5]?.data).toMatchObject({ tag: 'stable', before: '2.0.0' });
  });

  test('it is described without its zip', async () => {
    const registry = ground().as('a');
    await publish(registry, skillZip({ body: 'Count them.' }));
    expect(await registry.describe('word-count', null)).toMatchObject({
      name: 'word-count',
      instructions: expect.stringContaining('Count them.'),
      lang: 'python',
      image: 'python:3.12-slim',
      tools: [],
      files: [{ path: 'SKILL.md' }, { path: 'scripts/main.py', bytes: 9 }],
      needs: { network: 'none', secrets: [] },
    });
    await publish(registry, plainZip('plain', '1.0.0'));
    expect(await registry.describe('plain', null)).toMatchObject({ lang: null, image: null, scripts: [] });
  });

  test('AS-12 one file of it is read by its path, small or large, and nothing else is', async () => {
    const { as, directory } = ground();
    const large = Buffer.from(Array.from({ length: 1_500_000 }, (_, at) => (at * at) % 251));
    await publish(as('a'), skillZip({ files: [{ name: 'assets/large.bin', content: large }] }));
    const read = async (path: string) => {
      const { content, ...about } = await as('a').file('word-count', null, path);
      return { ...about, content: await readAll(content as AsyncIterable<Buffer>) };
    };
    const small = await read('scripts/main.py');
    expect([small.path, small.bytes, String(small.content)]).toEqual(['scripts/main.py', 9, 'print(1)\n']);
    const found = await read('assets/large.bin');
    expect(found.content.equals(large)).toBe(true);
    expect(found.sha256).toBe(createHash('sha256').update(large).digest('hex'));
    for (const path of ['../x', '', '__proto__', 'scripts', '/etc/passwd', 'x'.repeat(100_000)])
      await refused(read(path), 'NOT_FOUND');
    await refused(as('b').file('word-count', null, 'SKILL.md'), 'NOT_FOUND');
    await expect.poll(() => readdirSync(join(directory, 'uploads'))).toEqual([]);
  });

  test('two versions are compared by fields and files', async () => {
    const registry = ground().as('a');
    await publish(registry, skillZip({ body: 'One.' }));
    await publish(registry, skillZip({ version: '1.1.0', body: 'Two.', files: [{ name: 'a.txt', content: 'a' }] }));
    const diff = await registry.diff('word-count', '1.0.0', 'latest');
    expect(diff.fields.map(({ field }) => field)).toEqual(expect.arrayContaining(['version', 'instructions']));
    expect(diff.files.map(({ path, change }) => `${change} ${path}`)).toEqual(['changed SKILL.md', 'added a.txt']);
    expect((await registry.diff('word-count', '1.0.0', '1.0.0')).equal).toBe(true);
  });
});

describe('lists', () => {
  test('go by name, page by page, each name with what is meant by it', async () => {
    const registry = ground().as('a');
    for (const name of ['delta', 'alpha', 'charlie', 'bravo']) await add(registry, name, '1.0.0');
    await add(registry, 'bravo', '2.0.0', undefined, ['next']);
    await registry.yank('charlie', '1.0.0', '');
    const seen: string[] = [];
    for (let after: string | null = null; ; ) {
      const page = await registry.list({ query: null, tag: null, limit: 1, after });
      expect(page.items.length).toBeLessThanOrEqual(1);
      seen.push(...page.items.map(one => one.name));
      if (page.next === null) break;
      after = page.next;
    }
    expect(seen).toEqual(['alpha', 'bravo', 'delta']);
    expect(await names(registry)).toEqual(['alpha@1.0.0', 'bravo@2.0.0', 'delta@1.0.0']);
    expect(await names(registry, { tag: 'next' })).toEqual(['bravo@2.0.0']);
    await registry.tag('bravo', 'next', '1.0.0');
    expect(await names(registry, { tag: 'next' })).toEqual(['bravo@1.0.0']);
  });

  test('a query ranks by name, description and instructions, and pages', async () => {
    const registry = ground().as('a');
    await add(registry, 'pdf', '1.0.0', 'Something else. Use when asked.');
    await add(registry, 'reader', '1.0.0', 'Reads a pdf. Use when asked.');
    await add(registry, 'other', '1.0.0', 'Something else. Use when asked.');
    expect(await names(registry, { query: 'pdf' })).toEqual(['pdf@1.0.0', 'reader@1.0.0']);
    const first = await registry.list({ query: 'pdf', tag: null, limit: 1, after: null });
    expect([first.items[0]?.name, first.next]).toEqual(['pdf', '1']);
    const second = await registry.list({ query: 'pdf', tag: null, limit: 1, after: first.next });
    expect([second.items[0]?.name, second.next]).toEqual(['reader', null]);
    expect(await names(registry, { query: '"*' })).toEqual([]);
    expect(await names(registry, { query: ' ' })).toHaveLength(3);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async query => {
        await names(registry, { query });
      }),
    );
  });

  test('a place or a limit that is none is refused', async () => {
    const registry = ground().as('a');
    const list = (query: string | null, limit: number, after: string | null) =>
      Promise.resolve().then(() => registry.list({ query, tag: null, limit, after }));
    for (const limit of [0, -1, 1.5, Number.NaN]) await refused(list(null, limit, null), 'USAGE');
    for (const after of ['', '0', '-1', '99999', '1e3', '../x']) await refused(list('x', 1, after), 'USAGE');
    for (const after of ['', '../x', 'A']) await refused(list(null, 1, after), 'USAGE');
    expect((await list(null, 1e9, null)).items).toEqual([]);
  });
});

test('a row that an older Skillbox wrote: what it does not say means the least power', () => {
  const { tools } = readManifest({ tools: [{ name: 'a', description: 'A.', parameters: {} }] });
  expect(tools).toMatchObject([{ readOnly: false, alwaysAsk: true }]);
});

test('two tenants never see each other', async () => {
  const { as, store } = ground();
  const [a, b, own] = [as('a'), as('b'), as(null)];
  const { skill } = await add(a, 'word-count', '1.0.0', 'Of the first one.', ['stable']);
  for (const other of [b, own]) {
    for (const act of [
      other.versions('word-count'),
      other.resolve('word-count', '1.0.0'),
      other.describe('word-count', null),
      other.download('word-count', 'stable'),
      other.yank('word-count', '1.0.0', ''),
      other.unyank('word-count', '1.0.0'),
      other.tag('word-count', 'mine', '1.0.0'),
      other.untag('word-count', 'stable'),
      other.diff('word-count', '1.0.0', '1.0.0'),
    ])
      await refused(act, 'NOT_FOUND');
    expect(await names(other)).toEqual([]);
    expect(await names(other, { query: 'first' })).toEqual([]);
    expect(await names(other, { tag: 'stable' })).toEqual([]);
  }
  expect(await a.versions('word-count')).toEqual([skill]);
  // The same name and version with other content is theirs, and no conflict.
  expect((await add(b, 'word-count', '1.0.0', 'Of the second one.')).created).toBe(true);
  expect((await add(own, 'word-count', '1.0.0', 'Of the own one.')).created).toBe(true);
  expect((await a.resolve('word-count', null)).digest).toBe(skill.digest);
  // Each is told in a chain of their own.
  expect(new Set((await eventsOf(store)).map(({ chain }) => chain)).size).toBe(3);
});
