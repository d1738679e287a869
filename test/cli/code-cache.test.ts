import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
const module = join(import.meta.dirname, '../../src/cli/code-cache.ts');
const BODY = `let calls = 0;
function answer() { calls++; return globalThis.asked ?? 'one'; }
exports.answer = answer;
exports.other = () => require('./other.cjs').value + calls;
exports.where = [__filename, __dirname, typeof require.resolve, module.loaded];`;

type Place = { home: string; directory: string };
function newPlace(): Place {
  const place = { home: tempDir('programs'), directory: tempDir('code') };
  writeFileSync(join(place.home, 'program.cjs'), BODY);
  writeFileSync(join(place.home, 'other.cjs'), "exports.value = require('./program.cjs').answer() + '+';");
  return place;
}

/** A process of its own that loads the program and says what came of `expression`; `kept` after a run that went well. */
function use(
  { home, directory }: Place,
  expression = 'p.answer()',
  { keep = true, flags = [] as string[], env = {} } = {},
) {
  const script = `import { openPrograms } from ${JSON.stringify(module)};
    const programs = openPrograms(${JSON.stringify(directory)}, ${JSON.stringify(home)}, 'build');
    const p = programs.load('program.cjs');
    const said = await (${expression});
    ${keep ? 'programs.keep();' : ''}
    process.stdout.write(JSON.stringify(said));`;
  const path = join(home, 'main.mjs');
  writeFileSync(path, script);
  return JSON.parse(
    execFileSync(process.execPath, [...flags, path], { env: { PATH: '/usr/bin:/bin', ...env }, encoding: 'utf8' }),
  );
}
const kept = ({ directory }: Place) => readdirSync(directory);
const bytes = (place: Place) => kept(place).map(name => readFileSync(join(place.directory, name)));

describe('the code of programs that are one file', () => {
  test('is kept after a run, and what runs from it is the same', () => {
    const place = newPlace();
    expect(use(place)).toBe('one');
    expect(kept(place).length).toBe(1);
    expect(use(place)).toBe('one');
    // A module like any other: it can be required, and there is one of it.
    expect(use(place, '[p.answer(), p.other()]')).toEqual(['one', 'one+2']);
    expect(use(place, 'p.where')).toEqual([join(place.home, 'program.cjs'), place.home, 'function', false]);
  });

  test('is written by the first three runs, each with what it compiled besides, and no more', () => {
    const place = newPlace();
    const after = [1, 2, 3, 4].map(() => {
      use(place);
      return bytes(place)[0]?.[0];
    });
    expect(after).toEqual([1, 2, 3, 3]);
    expect(kept(place).length).toBe(1);
  });

  test('that is damaged is not used, and replaced: V8 would not look, and the process would die of it', () => {
    const place = newPlace();
    use(place);
    const path = join(place.directory, kept(place)[0] ?? '');
    const whole = readFileSync(path);
    for (const at of [8, 64, 200, Math.floor(whole.length / 2) + 20, whole.length - 1]) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ 0x55;
      writeFileSync(path, damaged);
      expect(use(place), String(at)).toBe('one');
      expect(readFileSync(path)[0]).toBe(1);
    }
  });

  test('is not kept by a run that did not do what it was to do', () => {
    const place = newPlace();
    use(place, 'p.answer()', { keep: false });
    expect(kept(place)).toEqual([]);
  });

  test('of another file is not used, though V8 would take it: it only looks at the length', () => {
    const place = newPlace();
    use(place);
    const path = join(place.home, 'program.cjs');
    const [before] = bytes(place);
    writeFileSync(path, BODY.replace("'one'", "'two'"));
    utimesSync(path, 1, 1);
    expect(use(place)).toBe('two');
    expect(kept(place).length).toBe(2);
    // To see that this would have been taken: the old code under the new name.
    const fresh = kept(place).filter(name => !readFileSync(join(place.directory, name)).equals(before as Buffer));
    expect(fresh.length).toBe(1);
    copyFileSync(
      join(place.directory, kept(place).find(name => !fresh.includes(name)) ?? ''),
      join(place.directory, fresh[0] ?? ''),
    );
    expect(use(place)).toBe('one');
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['a head alone', Buffer.alloc(8, 3)],
    ['zeros', Buffer.alloc(4096)],
    ['anything', Buffer.alloc(4096, 'x')],
  ])('that holds %s is not used, and replaced', (_, content) => {
    const place = newPlace();
    use(place);
    const path = join(place.directory, kept(place)[0] ?? '');
    writeFileSync(path, content);
    expect(use(place)).toBe('one');
    expect(readFileSync(path).length).toBeGreaterThan(200);
    expect(readFileSync(path)[0]).toBe(1);
  });

  test('that V8 refuses again and again is not made for ever', () => {
    const place = newPlace();
    const spoil = 'process.getBuiltinModule("node:v8").setFlagsFromString("--no-opt"), p.answer()';
    const heads = Array.from({ length: 6 }, () => {
      expect(use(place, spoil)).toBe('one');
      return [...(bytes(place)[0]?.subarray(0, 2) ?? [])];
    });
    expect(heads).toEqual([
      [1, 0],
      [1, 1],
      [1, 2],
      [1, 3],
      [1, 3],
      [1, 3],
    ]);
  });

  test('is left to Node where somebody sets flags', () => {
    const place = newPlace();
    expect(use(place, 'p.answer()', { flags: ['--no-opt'] })).toBe('one');
    expect(use(place, 'p.answer()', { env: { NODE_OPTIONS: '--no-warnings' } })).toBe('one');
    expect(kept(place)).toEqual([]);
  });

  test('is kept of four installations, the last ones; and of another program besides', () => {
    const place = newPlace();
    writeFileSync(join(place.directory, 'programmer.cjs-1-2-3-4'), 'x');
    for (let index = 0; index < 6; index++) {
      writeFileSync(join(place.home, 'program.cjs'), `${BODY}${' '.repeat(index)}`);
      use(place);
    }
    expect(kept(place).filter(name => name.startsWith('program.cjs-')).length).toBe(4);
    expect(kept(place)).toContain('programmer.cjs-1-2-3-4');
  });

  test.skipIf(process.getuid?.() === 0)('that cannot be written is no fault', () => {
    const place = newPlace();
    chmodSync(place.directory, 0o500);
    expect(use(place)).toBe('one');
  });

  test('in a place that is gone is no fault', () => {
    const place = { ...newPlace(), directory: '/proc/nowhere' };
    expect(use(place)).toBe('one');
    mkdirSync(join(place.home, 'x'));
  });
});
