import { execFileSync, spawn } from 'node:child_process';
import { createReadStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readBounded, readStream } from '../../src/cli/read-bounded.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const NEVER = new AbortController().signal;

test('a file as it is, by name and as a stream; null when it holds more', async () => {
  const path = join(tempDir('bounded'), 'file');
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.nat(200), async (content, maxBytes) => {
      writeFileSync(path, content);
      const wanted = content.length > maxBytes ? null : Buffer.from(content);
      expect(await readBounded(path, maxBytes, NEVER)).toEqual(wanted);
      expect(await readStream(createReadStream(path), maxBytes, NEVER)).toEqual(wanted);
    }),
  );
});

test('a device without an end is more than any bound', async () => {
  expect(await readBounded('/dev/zero', 300_000, NEVER)).toBeNull();
  expect(await readBounded('/dev/null', 10, NEVER)).toEqual(Buffer.alloc(0));
});

function newPipe(): string {
  const path = join(tempDir('bounded'), 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

test.each([
  ['a writer that comes late', 'sleep 0.2; (printf a; sleep 0.2; printf b) > "$0"', 10, Buffer.from('ab')],
  ['one that writes nothing', 'sleep 0.2; : > "$0"', 10, Buffer.alloc(0)],
  ['one that writes too much', 'yes > "$0" 2> /dev/null', 300_000, null],
])('a named pipe with %s', async (_name, script, maxBytes, wanted) => {
  const path = newPipe();
  spawn('sh', ['-c', script, path], { stdio: 'ignore' });
  expect(await readBounded(path, maxBytes, NEVER)).toEqual(wanted);
});

test('an interrupt ends the wait for a writer', async () => {
  const controller = new AbortController();
  const reading = readBounded(newPipe(), 10, controller.signal);
  await sleep(50);
  controller.abort();
  await expect(reading).rejects.toMatchObject({ code: 'CANCELED' });
  await expect(readBounded(newPipe(), 10, controller.signal)).rejects.toMatchObject({ code: 'CANCELED' });
  await expect(readBounded('/dev/zero', 10, controller.signal)).rejects.toMatchObject({ code: 'CANCELED' });
});
