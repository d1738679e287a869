import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { Database } from '../../src/store/database.ts';
import { SkillWords } from '../../src/store/skill-words.ts';
import { createSqliteJournal } from '../../src/store/sqlite-journal.ts';
import { createSkillRows } from '../../src/store/sqlite-skills.ts';
import { skillRow } from '../contracts/skills.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
const opened: Database[] = [];
afterEach(() => {
  for (const database of opened.splice(0)) database.close();
});

/** The store as a Node with FTS5 opens it, or one before 22.16, which has none. */
function openRows(directory: string, hasFts5: boolean) {
  const database = new Database(join(directory, 'skillbox.db'), 1000);
  opened.push(database);
  const words = hasFts5 ? new SkillWords(database) : new SkillWords(database, () => false);
  const rows = createSkillRows(database, createSqliteJournal(database, directory), words);
  const add = (name: string, description: string, text: string) =>
    rows.publish(skillRow({ name, description, text }), [], []);
  const { tenant } = skillRow();
  const find = async (query: string, tag: string | null = null) =>
    (await rows.search({ tenant, tag }, query, 10)).map(({ name }) => name);
  return { rows, words, add, find };
}

async function addThree({ add }: Pick<ReturnType<typeof openRows>, 'add'>): Promise<void> {
  await add('notes', 'Keeps what was said.', 'Nothing about pdf but this.');
  await add('reader', 'Reads pdf files.', 'How to.');
  await add('pdf', 'Works with documents.', 'How to.');
}

describe.each([true, false])('a search for published skills (FTS5: %s)', hasFts5 => {
  test('ranks by name, description and text, with words that are begun', async () => {
    const store = openRows(tempDir('words'), hasFts5);
    await addThree(store);
    expect(await store.find('PDF')).toEqual(['pdf', 'reader', 'notes']);
    expect(await store.find('docu')).toEqual(['pdf']);
    expect(await store.find('reads nothing')).toHaveLength(2);
    expect(await store.find('50%_')).toEqual([]);
    expect(store.words.isUsable()).toBe(hasFts5);
  });

  test('shows nothing of other tenants, of other tags, or that is withdrawn', async () => {
    const store = openRows(tempDir('words'), hasFts5);
    await addThree(store);
    await store.rows.publish(skillRow({ tenant: 'acme', name: 'pdf-of-others', description: 'pdf' }), [], []);
    await store.rows.publish(skillRow({ name: 'pdf-tagged' }), ['stable'], []);
    const { tenant, version } = skillRow();
    await store.rows.yank({ tenant, name: 'reader', version }, { at: 1, reason: 'old' }, []);
    expect(await store.find('pdf')).toEqual(expect.not.arrayContaining(['pdf-of-others', 'reader']));
    expect(await store.find('pdf', 'stable')).toEqual(['pdf-tagged']);
  });
});

test('what was published without words is found at once, and has its words after the next one', async () => {
  const directory = tempDir('words');
  await openRows(directory, true).add('first', 'Is there from the beginning.', 'x');
  await addThree(openRows(directory, false));
  const newer = openRows(directory, true);
  expect(newer.words.isUsable()).toBe(false);
  expect(await newer.find('pdf')).toEqual(['pdf', 'reader', 'notes']);
  await newer.add('last', 'Comes after them.', 'x');
  expect(newer.words.isUsable()).toBe(true);
  // By its stem, which only words have.
  expect(await newer.find('documented')).toEqual(['pdf']);
  expect(await newer.find('begins')).toEqual(['first']);
});
