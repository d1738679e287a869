import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeOwn, makePath } from '../../src/base/index.ts';
import { tempDirectory } from '../temp.ts';

describe('the data directory', () => {
  test('is made for nobody else, with every directory above it that was not there', () => {
    const root = tempDirectory();
    const before = process.umask(0);
    try {
      makeOwn(join(root, 'a/b/data'));
    } finally {
      process.umask(before);
    }
    const modes = ['a', 'a/b', 'a/b/data'].map(name => statSync(join(root, name)).mode & 0o777);
    expect(modes).toEqual([0o700, 0o700, 0o700]);
  });

  test('that everybody may write to is refused, and one behind a link is taken', () => {
    const root = tempDirectory();
    mkdirSync(join(root, 'open'));
    chmodSync(join(root, 'open'), 0o777);
    expect(() => makeOwn(join(root, 'open'))).toThrow(/written by everyone/);
    mkdirSync(join(root, 'mine'), { mode: 0o700 });
    symlinkSync('mine', join(root, 'link'));
    expect(() => makeOwn(join(root, 'link'))).not.toThrow();
  });

  test.each(['file', 'file/data', 'dangling', 'dangling/data'])('at %s cannot be made, and it says where', name => {
    const root = tempDirectory();
    writeFileSync(join(root, 'file'), '');
    symlinkSync('gone', join(root, 'dangling'));
    expect(() => makeOwn(join(root, name))).toThrow(
      `needs the directory ${join(root, name.split('/')[0] ?? '')}, which cannot be made (something else stands there)`,
    );
  });
});

describe('a directory with those above it', () => {
  test('is made as the umask says, and taken where it is there', () => {
    const root = tempDirectory();
    const before = process.umask(0o027);
    try {
      makePath(join(root, 'a/b'));
      makePath(join(root, 'a/b'));
    } finally {
      process.umask(before);
    }
    expect(['a', 'a/b'].map(name => statSync(join(root, name)).mode & 0o777)).toEqual([0o750, 0o750]);
  });

  test.each([
    ['/proc/nope', 'ENOENT'],
    ['/proc/nope/below', 'ENOENT'],
    ['/dev/null/below', 'ENOTDIR'],
  ])('at %s ends with an error, not never', (path, code) => {
    expect(() => makePath(path)).toThrow(expect.objectContaining({ code }));
  });
});
