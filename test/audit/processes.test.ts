import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openAudit } from '../../src/audit/index.ts';
import { openStore } from '../../src/store/index.ts';
import { ALL } from '../contracts/journal.ts';
import { verifyJournal } from '../support/journals.ts';
import { WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const CHILD = join(import.meta.dirname, '../support/journal-child.ts');
const EACH = 200;

/** Answers with what the process said was written; it is killed when it has said so many. */
async function write(directory: string, name: string, killAfter: number): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, directory, name, String(EACH)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    if (text.split('\n').length > killAfter) child.kill('SIGKILL');
  });
  await once(child, 'close');
  return text.split('\n').slice(0, -1);
}

async function subjectsIn(directory: string): Promise<(string | null)[]> {
  const store = openStore(directory, WRITER);
  const found: (string | null)[] = [];
  for await (const { entry } of openAudit(store.journal, join(directory, 'audit')).export(ALL))
    if (entry.type === 'config.changed') found.push(entry.subject);
  await store.close();
  return found;
}

describe('several processes write at once', () => {
  test('nothing is lost, nothing is written twice, no chain forks', { timeout: 120_000 }, async () => {
    const directory = join(tempDir('journal'), 'new');
    const said = (await Promise.all(['a', 'b', 'c', 'd'].map(name => write(directory, name, Infinity)))).flat();
    expect(said).toHaveLength(4 * EACH);
    expect(new Set(await subjectsIn(directory))).toEqual(new Set(said));
    const { wrong, entries, chains } = await verifyJournal(directory);
    expect(wrong).toBeNull();
    expect(entries).toBe(4 * EACH);
    expect(new Set(chains.map(({ seq }) => seq))).toEqual(new Set([4 * (EACH / 5), 4 * (EACH - EACH / 5)]));
  });

  test('one is killed midway, another rotates: what was answered is there, and it verifies', {
    timeout: 120_000,
  }, async () => {
    const directory = tempDir('journal');
    const rotating = async () => {
      const store = openStore(directory, WRITER);
      for (let turn = 0; turn < 5; turn++) {
        await new Promise(resolve => setTimeout(resolve, 100));
        await store.journal.rotate(Number.MAX_SAFE_INTEGER, { id: 'uid:1000', channel: 'terminal' });
        expect((await openAudit(store.journal, directory).verify(null, null)).wrong).toBeNull();
      }
      await store.close();
    };
    const [a, b, c] = await Promise.all([
      write(directory, 'a', Infinity),
      write(directory, 'b', 50),
      write(directory, 'c', 120),
      rotating(),
    ]);
    expect([a.length, b.length >= 50, c.length >= 120]).toEqual([EACH, true, true]);
    const found = await subjectsIn(directory);
    expect(found).toEqual(expect.arrayContaining([...a, ...b, ...c]));
    expect(new Set(found).size).toBe(found.length);
    // At most the one that each was writing when it was killed.
    expect(found.length).toBeLessThanOrEqual(a.length + b.length + c.length + 2);
    expect((await verifyJournal(directory)).wrong).toBeNull();
  });
});
