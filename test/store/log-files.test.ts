import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LogEntry } from '../../src/store/index.ts';
import { createLogFiles, LogWriter, readLog } from '../../src/store/log-files.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const directory = tempDir('logs');
let next = 0;
const newName = () => `run${next++}`;

function readWhole(id: string, maxBytes: number): LogEntry[] {
  const all: LogEntry[] = [];
  for (let offset = 0; ; ) {
    const { entries, offset: after } = readLog(directory, id, offset, maxBytes);
    all.push(...entries);
    if (after === offset) return all;
    offset = after;
  }
}

const stream = fc.constantFrom('stdout' as const, 'stderr' as const);

describe('logs', () => {
  test('SB-10 what was written comes back in order, apart and whole, however it is read', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(stream, fc.uint8Array({ minLength: 1, maxLength: 300 })), { maxLength: 30 }),
        fc.integer({ min: 1, max: 4000 }),
        async (pieces, maxBytes) => {
          const id = newName();
          const log = await LogWriter.create(directory, id);
          for (const [name, bytes] of pieces) log.write(name, Buffer.from(bytes));
          await log.close();
          const read = readWhole(id, maxBytes);
          expect(read.map(entry => [entry.stream, [...entry.bytes]])).toEqual(
            pieces.map(([name, b]) => [name, [...b]]),
          );
          expect(log.bytes).toBe(pieces.reduce((sum, [, bytes]) => sum + bytes.length, 0));
          for (const [at, { timeMs }] of read.entries())
            expect(timeMs).toBeGreaterThanOrEqual(read[at - 1]?.timeMs ?? 0);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('SB-10 a piece of any size is read on, also by a reader that takes little at a time', async () => {
    const id = newName();
    const log = await LogWriter.create(directory, id);
    const big = Buffer.alloc(1_000_003, 'abcdefg');
    log.write('stderr', big);
    log.write('stdout', Buffer.from('end'));
    await log.close();
    const read = readWhole(id, 1);
    expect(Buffer.concat(read.slice(0, -1).map(({ bytes }) => bytes)).equals(big)).toBe(true);
    expect(read.at(-1)).toMatchObject({ stream: 'stdout', bytes: Buffer.from('end') });
  });

  test('SB-10 a piece that is still being written is left for the next call', async () => {
    const id = newName();
    const path = join(directory, `${id}.log`);
    const log = await LogWriter.create(directory, id);
    log.write('stdout', Buffer.from('first'));
    const whole = statSync(path).size;
    log.write('stdout', Buffer.from('second'));
    await log.close();
    for (let cut = whole; cut < statSync(path).size; cut++) {
      truncateSync(path, statSync(path).size - 1);
      expect(readLog(directory, id, 0, 1024)).toMatchObject({
        entries: [{ bytes: Buffer.from('first') }],
        offset: whole,
      });
    }
    appendFileSync(path, '');
    expect(readLog(directory, id, whole, 1024)).toEqual({ entries: [], offset: whole });
  });

  test('a log is written once, privately, and one that is not there is empty', async () => {
    const id = newName();
    const log = await LogWriter.create(directory, id);
    expect(existsSync(join(directory, `${id}.log`))).toBe(false); // nothing was said yet
    log.write('stdout', Buffer.from('a word'));
    await log.close();
    expect(statSync(join(directory, `${id}.log`)).mode & 0o777).toBe(0o600);
    await expect(LogWriter.create(directory, id)).rejects.toMatchObject({ code: 'UNWRITABLE' });
    expect(readLog(directory, 'nothing', 0, 10)).toEqual({ entries: [], offset: 0 });
    expect(readLog(directory, id, 999, 10)).toEqual({ entries: [], offset: 999 });
  });

  test('where no log can be written, that is told before anything runs', async () => {
    const file = join(directory, 'a-file');
    appendFileSync(file, '');
    await expect(LogWriter.create(file, newName())).rejects.toMatchObject({ code: 'UNWRITABLE' });
    await expect(LogWriter.create(join(file, 'below'), newName())).rejects.toMatchObject({ code: 'UNWRITABLE' });
  });

  test.skipIf(process.getuid?.() !== 0).for([
    ['not to be written', 0o755],
    ['not to be entered', 0o702],
  ] as const)('a directory that is %s by this account is no place for a log', ([, mode]) => {
    const closed = tempDir('closed-logs', mode);
    const program = `import { LogWriter } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, '../../src/store/log-files.ts')).href)};
      await LogWriter.create(${JSON.stringify(closed)}, 'x').then(() => console.log('made'), error => console.log(error.code));`;
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      uid: 65534,
      gid: 65534,
      encoding: 'utf8',
    });
    expect(said.trim()).toBe('UNWRITABLE');
  });

  test('the log of an earlier attempt is gone with the next, and whoever still writes to it reaches nobody', async () => {
    const logs = createLogFiles(directory);
    const id = newName();
    const first = await logs.create({ id, attempt: 1 });
    first.write('stdout', Buffer.from('of the first'));
    await expect(logs.create({ id, attempt: 1 })).rejects.toMatchObject({ code: 'UNWRITABLE' });
    const second = await logs.create({ id, attempt: 2 });
    first.write('stdout', Buffer.from('too late'));
    second.write('stderr', Buffer.from('of the second'));
    await Promise.all([first.close(), second.close(), second.close()]);
    const { entries } = await logs.read(id, 0, 1024);
    expect(entries.map(({ bytes }) => bytes.toString())).toEqual(['of the second']);
    expect(() => second.write('stdout', Buffer.from('x'))).toThrow(expect.objectContaining({ code: 'UNWRITABLE' }));
    await logs.remove([id, 'nothing']);
    expect(await logs.read(id, 0, 1024)).toEqual({ entries: [], offset: 0 });
  });
});
