import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { AuditEvent } from '../../src/audit/index.ts';
import type { SkillRow, Store } from '../../src/store/index.ts';
import type { StoreSubject } from './store.ts';

/** Before 22.16 Node's SQLite knows no words: a search then finds their letters, and does not see which of them are rare. */
const KNOWS_WORDS =
  new DatabaseSync(':memory:').prepare("SELECT sqlite_compileoption_used('ENABLE_FTS5') AS used").get()?.used === 1;

const DIGEST = (letter: string) => `sb1-sha256:${letter.repeat(64)}`;

export const skillRow = (changes: Partial<SkillRow> = {}): SkillRow => ({
  tenant: 'a',
  name: 'word-count',
  version: '1.0.0',
  digest: DIGEST('1'),
  archive: { sha256: 'f'.repeat(64), bytes: 1000 },
  dialect: 'skillbox',
  description: 'Counts the words of a text.',
  publishedAt: 1_700_000_000_000,
  publishedBy: 'key-1',
  yanked: null,
  manifest: { instructions: 'Do it.', files: [{ path: 'SKILL.md', bytes: 3 }] },
  unpacked: 0,
  text: 'how long a text is',
  ...changes,
});

const eventOf = (tenant: string, type: AuditEvent['type'] = 'skill.published'): AuditEvent => ({
  type,
  actor: { id: 'key-1', channel: 'api' },
  tenant,
  subject: 'word-count@1.0.0',
  data: { digest: DIGEST('1') },
});

/** What every store must hold of published skills: decided once, with their events, for one tenant. */
export function skillsContract(name: string, make: () => Promise<StoreSubject>): void {
  describe(`${name}: skills`, () => {
    const opened: { subject: StoreSubject; store: Store }[] = [];
    let subject: StoreSubject;
    let store: Store;
    beforeEach(async () => {
      subject = await make();
      store = await subject.open();
      opened.push({ subject, store });
    });
    afterAll(async () => {
      for (const each of opened) {
        await each.store.close();
        await each.subject.close();
      }
    });
    const told = async () => (await store.journal.heads()).reduce((sum, { seq }) => sum + seq, 0);
    const add = (changes: Partial<SkillRow> = {}, tags: string[] = []) =>
      store.skills.publish(skillRow(changes), tags, []);
    const found = async (query: string, tenant = 'a', tag: string | null = null) =>
      (await store.skills.search({ tenant, tag }, query, 10)).map(one => one.name);
    const named = async (limit: number, after: string | null, tag: string | null = null) =>
      (await store.skills.names({ tenant: 'a', tag }, limit, after)).map(one => one.name);

    it('what another process changes is seen by the next request, also by who has read it before', async () => {
      await add();
      const other = await subject.open();
      const seen = async () => {
        // Another process cannot be faster than this one's next turn.
        await new Promise(resolve => setImmediate(resolve));
        const one = await store.skills.get('a', 'word-count', '1.0.0');
        const [head] = await store.skills.versions('a', 'word-count');
        return [one?.yanked?.reason, head?.yanked?.reason, one?.tags, head?.tags];
      };
      expect(await seen()).toEqual([undefined, undefined, [], []]);
      const key = { tenant: 'a', name: 'word-count', version: '1.0.0' };
      await other.skills.yank(key, { at: 1, reason: 'theirs' }, []);
      expect(await seen()).toEqual(['theirs', 'theirs', [], []]);
      await store.skills.yank(key, { at: 2, reason: 'ours' }, []);
      expect(await seen()).toEqual(['ours', 'ours', [], []]);
      await store.skills.tag({ tenant: 'a', name: 'word-count', tag: 'stable' }, '1.0.0', []);
      expect(await seen()).toEqual(['ours', 'ours', ['stable'], ['stable']]);
      await other.skills.publish(skillRow({ version: '1.1.0' }), [], []);
      await seen();
      expect(await store.skills.versions('a', 'word-count')).toHaveLength(2);
      await other.close();
    });

    it('a version comes back as it was, also through another handle, with its tags', async () => {
      const row = skillRow({
        description: 'it\'s "quoted" \ud83d\ude00 é',
        manifest: { ['__proto__']: { polluted: true }, odd: '\u0000\ud800' },
      });
      expect(await store.skills.publish(row, ['stable', 'beta'], [eventOf('a')])).toBe('written');
      const other = await subject.open();
      const { text: _text, unpacked: _unpacked, ...kept } = { ...row, tags: ['beta', 'stable'] };
      const { manifest, ...head } = kept;
      expect(JSON.stringify((await other.skills.get('a', row.name, row.version))?.manifest)).toBe(
        JSON.stringify(manifest),
      );
      expect(await other.skills.get('a', row.name, row.version)).toMatchObject(head);
      expect(await other.skills.versions('a', row.name)).toEqual([head]);
      expect(await other.skills.heads('a', [row, { name: row.name, version: '9.9.9' }])).toEqual([head]);
      await other.close();
      expect(await told()).toBe(1);
    });

    it('a version is published once: the same content again is the same, other content is refused, and nothing is told', async () => {
      await add();
      const again = (digest: string) =>
        store.skills.publish(skillRow({ digest, description: 'Other.' }), ['stable'], [eventOf('a')]);
      expect(await again(DIGEST('1'))).toBe('same');
      expect(await again(DIGEST('2'))).toBe('taken');
      expect(await store.skills.get('a', 'word-count', '1.0.0')).toMatchObject({
        digest: DIGEST('1'),
        description: skillRow().description,
        tags: [],
      });
      expect(await told()).toBe(0);
    });

    it('of many that publish the same version at once, one wins, whatever handle it came by', async () => {
      const other = await subject.open();
      const written = await Promise.all(
        Array.from({ length: 10 }, (_, at) =>
          (at % 2 === 0 ? store : other).skills.publish(skillRow({ digest: DIGEST(String(at)) }), [], [eventOf('a')]),
        ),
      );
      await other.close();
      expect(written.filter(one => one === 'written')).toHaveLength(1);
      expect(written.filter(one => one === 'taken')).toHaveLength(9);
      expect(await store.skills.get('a', 'word-count', '1.0.0')).toMatchObject({
        digest: DIGEST(String(written.indexOf('written'))),
      });
      expect(await told()).toBe(1);
    });

    it('what one tenant has is not there for another', async () => {
      await add({}, ['stable']);
      expect(await store.skills.get('b', 'word-count', '1.0.0')).toBeNull();
      expect(await store.skills.versions('b', 'word-count')).toEqual([]);
      expect(await store.skills.heads('b', [skillRow()])).toEqual([]);
      expect(await store.skills.names({ tenant: 'b', tag: null }, 10, null)).toEqual([]);
      expect(await found('words', 'b')).toEqual([]);
      expect(await store.skills.usage('b')).toEqual({ names: 0, bytes: 0 });
      const key = { tenant: 'b', name: 'word-count', version: '1.0.0', tag: 'stable' };
      expect(await store.skills.yank(key, { at: 1, reason: '' }, [eventOf('b', 'skill.yanked')])).toBe(false);
      expect(await store.skills.tag(key, '1.0.0', [eventOf('b')])).toBe(false);
      expect(await store.skills.tag(key, null, [eventOf('b')])).toBe(false);
      // And of the same name and version each has its own.
      expect(await add({ tenant: 'b', digest: DIGEST('2') }, ['stable'])).toBe('written');
      await store.skills.tag(key, null, []);
      expect((await store.skills.get('a', 'word-count', '1.0.0'))?.tags).toEqual(['stable']);
      expect((await store.skills.get('a', 'word-count', '1.0.0'))?.digest).toBe(DIGEST('1'));
      expect(await told()).toBe(0);
    });

    it('names come in order, page by page, with what decides which version is meant', async () => {
      for (const one of ['c', 'a', 'b-2', 'b', 'constructor']) await add({ name: one });
      await add({ name: 'b', version: '2.0.0' }, ['next']);
      await store.skills.yank({ tenant: 'a', name: 'b', version: '1.0.0' }, { at: 1, reason: '' }, []);
      expect(await named(2, null)).toEqual(['a', 'b']);
      expect(await named(2, 'b')).toEqual(['b-2', 'c']);
      expect(await named(2, 'c')).toEqual(['constructor']);
      expect(await named(9, null, 'next')).toEqual(['b']);
      const [b] = await store.skills.names({ tenant: 'a', tag: 'next' }, 9, null);
      expect(b?.versions.toSorted((x, y) => x.version.localeCompare(y.version))).toEqual([
        { version: '1.0.0', yanked: true, tags: [] },
        { version: '2.0.0', yanked: false, tags: ['next'] },
      ]);
    });

    it('a yank is written with its events and taken back; nothing is removed by it', async () => {
      await add();
      const key = { tenant: 'a', name: 'word-count', version: '1.0.0' };
      const yanked = { at: 1_700_000_000_001, reason: 'it\'s "broken"\n' };
      expect(await store.skills.yank(key, yanked, [eventOf('a', 'skill.yanked')])).toBe(true);
      expect((await store.skills.get('a', 'word-count', '1.0.0'))?.yanked).toEqual(yanked);
      expect(await found('words')).toEqual([]);
      expect(await store.skills.yank({ ...key, version: '2.0.0' }, yanked, [eventOf('a')])).toBe(false);
      expect(await store.skills.yank(key, null, [eventOf('a', 'skill.unyanked')])).toBe(true);
      expect((await store.skills.get('a', 'word-count', '1.0.0'))?.yanked).toBeNull();
      expect(await found('words')).toEqual(['word-count']);
      expect(await told()).toBe(2);
    });

    it('a tag moves, goes, and is given to no version that is not there', async () => {
      await add();
      await add({ version: '2.0.0' });
      const key = { tenant: 'a', name: 'word-count', tag: 'stable' };
      const tagsOf = async (version: string) => (await store.skills.get('a', 'word-count', version))?.tags;
      expect(await store.skills.tag(key, '1.0.0', [eventOf('a')])).toBe(true);
      expect(await store.skills.tag(key, '2.0.0', [eventOf('a')])).toBe(true);
      expect([await tagsOf('1.0.0'), await tagsOf('2.0.0')]).toEqual([[], ['stable']]);
      expect(await store.skills.tag(key, '3.0.0', [eventOf('a')])).toBe(false);
      expect(await tagsOf('2.0.0')).toEqual(['stable']);
      expect(await store.skills.tag(key, null, [eventOf('a')])).toBe(true);
      expect(await store.skills.tag(key, null, [eventOf('a')])).toBe(false);
      expect(await tagsOf('2.0.0')).toEqual([]);
      expect(await told()).toBe(3);
    });

    it('a search finds by words and their beginnings, the name before the description before the text', async () => {
      await add({ name: 'in-text', description: 'Something.', text: 'turns a page into a pdf' });
      await add({ name: 'in-description', description: 'Reads a pdf.', text: 'something' });
      await add({ name: 'pdf', description: 'Something.', text: 'something' });
      await add({ name: 'other', description: 'Something.', text: 'something' });
      expect(await found('PDF')).toEqual(['pdf', 'in-description', 'in-text']);
      expect(await found('pd')).toEqual(['pdf', 'in-description', 'in-text']);
      if (KNOWS_WORDS) expect((await found('reads pdf'))[0]).toBe('in-description');
      expect(await found('nothing-of-this-kind')).toEqual([]);
      expect((await store.skills.search({ tenant: 'a', tag: null }, 'pdf', 2)).length).toBe(2);
      await store.skills.tag({ tenant: 'a', name: 'in-text', tag: 'stable' }, '1.0.0', []);
      expect(await found('pdf', 'a', 'stable')).toEqual(['in-text']);
    });

    it('a name is found once, however many of its versions fit', async () => {
      for (const version of ['1.0.0', '1.1.0', '2.0.0']) await add({ version });
      expect(await found('words text')).toEqual(['word-count']);
    });

    it('whatever is searched for, it is words and never an error', async () => {
      await add();
      const hostile = [
        '"',
        '""',
        "'",
        '*',
        'a*',
        '-words',
        'words AND',
        'NEAR(words text)',
        'name:words',
        '^words',
        '(',
        ')',
      ];
      for (const query of [...hostile, '', ' ', '\u0000', '\ud800', 'x'.repeat(100_000), 'a '.repeat(50_000)])
        expect(Array.isArray(await found(query)), query.slice(0, 20)).toBe(true);
      expect(await found('words AND NOT text')).toEqual(['word-count']);
      expect(await found("'; DROP TABLE skills; --words")).toEqual(['word-count']);
      expect(await found('%')).toEqual([]);
      await fc.assert(
        fc.asyncProperty(fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' })), async query => {
          await found(query);
        }),
        { numRuns: 300 },
      );
    });

    it('says which blobs are kept for them, whoever has published them and whatever was yanked', async () => {
      const [mine = '', theirs = '', yanked = '', loose = ''] = ['a', 'b', 'c', 'd'].map(letter => letter.repeat(64));
      await add({ archive: { sha256: mine, bytes: 1 } });
      await add({ tenant: 'b', archive: { sha256: theirs, bytes: 1 } });
      await add({ version: '2.0.0', archive: { sha256: yanked, bytes: 1 } });
      await store.skills.yank({ tenant: 'a', name: 'word-count', version: '2.0.0' }, { at: 1, reason: '' }, []);
      expect((await store.skills.kept([mine, loose, theirs, yanked])).toSorted()).toEqual([mine, theirs, yanked]);
      expect(await store.skills.kept([])).toEqual([]);
    });

    it('counts names and the bytes of every version, packed and unpacked', async () => {
      await add();
      await add({ version: '2.0.0', archive: { sha256: 'e'.repeat(64), bytes: 5_000_000_000 } });
      await add({ name: 'other', archive: { sha256: 'e'.repeat(64), bytes: 1 }, unpacked: 7_000_000_000 });
      expect(await store.skills.usage('a')).toEqual({ names: 2, bytes: 12_000_001_001 });
    });
  });
}
