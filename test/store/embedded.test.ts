import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { thisWriter } from '../../src/runs/index.ts';
import { openStore, RUN_STATES } from '../../src/store/index.ts';
import { everyContract } from '../contracts/every.ts';
import { breaksJournal } from '../support/journals.ts';
import { newRecord, WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const makeSubject = async () => {
  const directory = tempDir('store');
  return { open: async () => openStore(directory, WRITER), close: async () => undefined };
};
everyContract('embedded store', makeSubject);

const CHILD = join(import.meta.dirname, '../support/store-child.ts');

/** Starts the child and collects its lines; `stop` kills it when it has said so many. */
async function runChild(directory: string, task: string, stop: number): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, directory, task], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    if (text.split('\n').length > stop) child.kill('SIGKILL');
  });
  await once(child, 'close');
  return text.split('\n').slice(0, -1);
}

describe('embedded store: several processes', () => {
  it('that open a new directory at once all work in it', { timeout: 60_000 }, async () => {
    const directory = join(tempDir('store'), 'deep/new');
    const said = await Promise.all(Array.from({ length: 4 }, () => runChild(directory, '25', 1e9)));
    const ids = said.flat();
    expect(new Set(ids).size).toBe(100);
    const store = openStore(directory, WRITER);
    expect((await store.runs.listOfAllTenants(RUN_STATES, 1000)).map(run => run.id).sort()).toEqual(ids.sort());
    await store.close();
  });

  it('killed while writing records: every answered write is there, and the next goes on', async () => {
    const directory = tempDir('store');
    const ids = await runChild(directory, '100000', 40);
    const store = openStore(directory, WRITER);
    for (const id of ids) expect(await store.runs.get(null, id), id).not.toBeNull();
    const database = new DatabaseSync(join(directory, 'skillbox.db'), { readOnly: true });
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    database.close();
    await store.runs.insert(newRecord(), []);
    await store.close();
  });

  it('SK-15 killed while writing a blob: none is there, and the next start sweeps the part', async () => {
    const directory = tempDir('store');
    await runChild(directory, 'blob', 1);
    const blobs = join(directory, 'blobs');
    expect(readdirSync(blobs).filter(name => !name.endsWith('.part'))).toEqual([]);
    const store = openStore(directory, thisWriter());
    writeFileSync(join(blobs, `.${thisWriter().id}.${'0'.repeat(36)}.part`), 'of a living process');
    expect(readdirSync(blobs)).toHaveLength(2);
    await store.sweep();
    expect(readdirSync(blobs)).toEqual([`.${thisWriter().id}.${'0'.repeat(36)}.part`]);
    await store.close();
  });
});

describe('embedded store: its directory', () => {
  it('is private, and so is what is in it, whatever the umask', async () => {
    const directory = join(tempDir('store'), 'data');
    const store = openStore(directory, WRITER);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, 'skillbox.db')).mode & 0o777).toBe(0o600);
    await store.close();
  });

  it('that others can write to is refused', () => {
    const directory = tempDir('store');
    chmodSync(directory, 0o777);
    expect(() => openStore(directory, WRITER)).toThrow(expect.objectContaining({ code: 'UNWRITABLE' }));
    expect(readdirSync(directory)).toEqual([]);
  });

  it('that cannot be made, or holds no store, is a typed error with a hint', () => {
    const directory = tempDir('store');
    writeFileSync(join(directory, 'file'), '');
    for (const path of [join(directory, 'file'), join(directory, 'file/below')])
      expect(() => openStore(path, WRITER)).toThrow(
        expect.objectContaining({ code: 'UNWRITABLE', hint: expect.stringContaining('SKILLBOX_DATA_DIR') }),
      );
    mkdirSync(breaksJournal(join(directory, 'other')), { mode: 0o700 });
    writeFileSync(join(directory, 'other/skillbox.db'), 'this is no database, but a text that somebody wrote');
    expect(() => openStore(join(directory, 'other'), WRITER)).toThrow(expect.objectContaining({ code: 'UNWRITABLE' }));
  });

  it('of a newer Skillbox is left alone', async () => {
    const directory = breaksJournal(tempDir('store'));
    await openStore(directory, WRITER).close();
    const database = new DatabaseSync(join(directory, 'skillbox.db'));
    database.exec('PRAGMA user_version = 99');
    database.close();
    expect(() => openStore(directory, WRITER)).toThrow(expect.objectContaining({ code: 'UNWRITABLE' }));
    expect(existsSync(join(directory, 'blobs'))).toBe(false);
  });
});
