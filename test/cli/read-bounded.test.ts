import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readBounded } from '../../src/cli/read-bounded.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

test('a file as it is, by name and by descriptor; null when it holds more', () => {
  const path = join(tempDir('bounded'), 'file');
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(200), (content, maxBytes) => {
      writeFileSync(path, content);
      const wanted = content.length > maxBytes ? null : Buffer.from(content);
      expect(readBounded(path, maxBytes)).toEqual(wanted);
      const fd = openSync(path, 'r');
      expect(readBounded(fd, maxBytes)).toEqual(wanted);
      closeSync(fd);
    }),
  );
});

test('a device without an end is more than any bound', () => {
  expect(readBounded('/dev/zero', 300_000)).toBeNull();
  expect(readBounded('/dev/null', 10)).toEqual(Buffer.alloc(0));
});
