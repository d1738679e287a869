import { expect, test } from 'vitest';
import { missingFor } from '../../src/images/index.ts';
import { file, link, makeTar } from './make-tar.ts';
import { HOOKS, Scratch } from './scratch.ts';

const scratch = new Scratch();

/** A binary that wants this loader; of nothing but its headers. */
function binary(loader: string | null, isWide = true): Buffer {
  const text = loader === null ? '' : `${loader}\0`;
  const [head, size] = isWide ? [64, 56] : [52, 32];
  const bytes = Buffer.alloc(head + 2 * size + text.length);
  bytes.write('\x7fELF', 'latin1');
  bytes[4] = isWide ? 2 : 1;
  bytes[5] = 1;
  if (isWide) bytes.writeBigUInt64LE(BigInt(head), 32);
  else bytes.writeUInt32LE(head, 28);
  bytes.writeUInt16LE(size, isWide ? 54 : 42);
  bytes.writeUInt16LE(2, isWide ? 56 : 44);
  bytes.writeUInt32LE(1, head);
  const at = head + size;
  bytes.writeUInt32LE(loader === null ? 1 : 3, at);
  if (isWide) {
    bytes.writeBigUInt64LE(BigInt(head + 2 * size), at + 8);
    bytes.writeBigUInt64LE(BigInt(text.length), at + 32);
  } else {
    bytes.writeUInt32LE(head + 2 * size, at + 4);
    bytes.writeUInt32LE(text.length, at + 16);
  }
  bytes.write(text, head + 2 * size);
  return bytes;
}

test('what the kernel wants beside a program, and the image has not, is told', async () => {
  const images = scratch.open();
  const cut = binary('/lib/ld.so').subarray(0, 100);
  const far = binary('/lib/ld.so');
  far.writeBigUInt64LE(2n ** 63n, 32);
  const items = [
    file('lib/ld.so', 'loader', 0o755),
    link('lib64', 'lib'),
    file('bin/static', binary(null), 0o755),
    file('bin/whole', binary('/lib64/ld.so'), 0o755),
    file('bin/narrow', binary('/lib/ld-narrow.so', false), 0o755),
    file('bin/bare', binary('/lib64/ld-musl.so'), 0o755),
    link('bin/alias', 'bare'),
    file('bin/script', '#! /bin/whole -e\n', 0o755),
    file('bin/lost', '#!/usr/bin/env python\n', 0o755),
    file('bin/deep', '#!/bin/bare\n', 0o755),
    file('bin/itself', '#!/bin/itself\n', 0o755),
    file('bin/cut', cut, 0o755),
    file('bin/far', far, 0o755),
    file('bin/empty', '', 0o755),
    file('bin/odd', '#!\n', 0o755),
  ];
  const { image } = await images.import('a:1', scratch.write(makeTar(items)), HOOKS);
  const missing = (name: string) => missingFor(images.rootOf(image.digest), `/bin/${name}`);
  expect(['static', 'whole', 'script', 'itself', 'cut', 'far', 'empty', 'odd', 'none'].map(missing)).toEqual(
    Array(9).fill(null),
  );
  expect(['narrow', 'bare', 'alias', 'lost', 'deep'].map(missing)).toEqual([
    '/lib/ld-narrow.so',
    '/lib64/ld-musl.so',
    '/lib64/ld-musl.so',
    '/usr/bin/env',
    '/lib64/ld-musl.so',
  ]);
  images.close();
});
