import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { buildScanner } from '../../scripts/build-helper.mjs';
import { discover, type IndexCache, WALK_LIMITS } from '../../src/catalog/index.ts';
import { type LookAhead, ProgramLookAhead } from '../../src/catalog/look-ahead.ts';
import { startProgram } from '../../src/catalog/program-output.ts';
import { childrenOf, commandOf } from '../support/processes.ts';
import { tempDirectory, writeFiles } from '../temp.ts';
import { skillsIn, user } from './make.ts';
import { step, steps } from './steps.ts';

let program = '';
beforeAll(() => {
  program = buildScanner();
});

type Records = Parameters<IndexCache['save']>[1];

/** Everything that a scan finds, and what it would remember, which holds the states of files. */
function scan(root: string, lookAhead: LookAhead | null, now = () => Date.now() + 60_000) {
  let records: Records = new Map();
  const cache: IndexCache = {
    load: () => new Map(),
    save: (_root, saved) => {
      records = saved;
    },
  };
  const { skills, broken, problems } = discover([user(root)], { cache, lookAhead, now });
  const kept = [...records].map(([path, { state, ...record }]) => {
    const { ino, size, mtimeMs, ctimeMs } = state;
    return { path, state: { ino, size, mtimeMs, ctimeMs }, ...record };
  });
  return { skills, broken, problems, records: kept };
}

/** For any number of folders. */
const always = () => new ProgramLookAhead(program, 1);

function expectSame(root: string, lookAhead: LookAhead = always(), now?: () => number): void {
  const { records, ...found } = scan(root, lookAhead, now);
  const { records: all, ...expected } = scan(root, null, now);
  expect(found).toEqual(expected);
  // All but skills that are as soon looked at again.
  const kept = new Set(records.map(({ path }) => path));
  expect(records).toEqual(all.filter(({ path }) => kept.has(path)));
  for (const { path, skill } of all) if (!kept.has(path)) expect(skill).toMatchObject({ deep: false });
}

describe('AS-09 looking ahead finds what looking one by one finds', () => {
  test('of plain skills, and it is the program that reads them', () => {
    const root = skillsIn(Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`s-${index}`, `N ${index}.`])));
    const bin = tempDirectory();
    const [called, wrapper] = [join(bin, 'called'), join(bin, 'wrapper')];
    writeFileSync(wrapper, `#!/bin/sh\necho x >> ${called}\nexec ${program}\n`);
    chmodSync(wrapper, 0o755);
    expectSame(root, new ProgramLookAhead(wrapper, 20));
    expect(readFileSync(called, 'utf8')).toBe('x\n');
    // Its answers are used: without SKILL.md there is nothing else to read a description from.
    const reader = always().open(root, 20, 10_000);
    const found = ['s-1', 's-10x', 's-2'].map(name => {
      const ahead = reader.next(name);
      return ahead?.kind === 'plain' ? { ...ahead.summary } : undefined;
    });
    expect(found.map(summary => summary && [summary.name, summary.description])).toEqual([
      ['s-1', 'N 1.'],
      undefined,
      ['s-2', 'N 2.'],
    ]);
    reader.close();
    expect(reader.next('s-3')).toBeNull();
  });

  test('of folders with everything that is not plain', () => {
    const root = skillsIn(
      {
        plain: 'Plain.',
        nested: 'Outer.',
        'nested/inner': 'Inner.',
        'group/one': 'One.',
        'group/two': 'Two.',
        versioned: '---\nname: versioned\ndescription: V.\nversion: 1.0.0\n---\n',
        gibberish: '---\nname: gibberish\ndescription: G.\n---\n### t\n\n#### Command\n\n```bash\nls\n```\n',
        silent: '---\nname: silent\n---\n',
        open: '---\nname: open\ndescription: Not closed.\n',
        'wörld 处': 'Named oddly.',
        long: `---\nname: long\ndescription: ${'x'.repeat(20_000)}\n---\n`,
        large: `---\nname: large\ndescription: L.\n---\n${'x\n'.repeat(60_000)}`,
        crowded: 'Crowded.',
        ignored: 'Ignored.',
        seks: 'S.',
        theirs: 'Writable.',
      },
      join(tempDirectory(), 'skills'),
    );
    writeFiles(root, {
      'ignored/.skillboxignore': 'SKILL.md\n',
      'seks/skill.yaml': 'name: seks\ndescription: M.\n',
      'versioned/scripts/main.sh': '',
      'empty/README.md': '',
      'bytes/SKILL.md': '',
    });
    for (let index = 0; index < 300; index++) writeFileSync(join(root, 'crowded', `file-${index}`), '');
    writeFileSync(join(root, 'bytes/SKILL.md'), Buffer.from('---\nname: bytes\ndescription: \xff\n---\n', 'latin1'));
    chmodSync(join(root, 'theirs/SKILL.md'), 0o666);
    mkdirSync(join(root, 'folder/SKILL.md'), { recursive: true });
    mkdirSync(join(root, 'fifo'));
    execFileSync('mkfifo', [join(root, 'fifo/SKILL.md')]);
    mkdirSync(join(root, 'linked-file'));
    symlinkSync('../plain/SKILL.md', join(root, 'linked-file/SKILL.md'));
    symlinkSync('plain', join(root, 'link'));
    symlinkSync('../plain', join(root, 'group/link'));
    symlinkSync('..', join(root, 'cycle'));
    expectSame(root);
  });

  test('after any changes', () => {
    fc.assert(
      fc.property(steps, steps, (first, second) => {
        const root = tempDirectory();
        skillsIn({ 'z/1': 'Z.', 'z/2': 'Z.', 'z/3': 'Z.', 'z/4': 'Z.' }, root);
        for (const one of [...first, ...second]) step(root, one);
        expectSame(root);
      }),
      { numRuns: 60 },
    );
  });

  test('whatever the frontmatter is', () => {
    const line = fc.constantFrom(
      'name: a',
      'name: "a b"',
      'description: B.',
      'description: Use when: asked',
      'description: >-\n  Folded.',
      'license: MIT',
      'metadata:\n  a: b',
      'tags: a',
      '# no',
      '---',
      '',
      '\u00e9: \u3000',
      '####',
      'user-invocable: no',
    );
    const text = fc.array(line, { maxLength: 6 }).map(lines => `---\n${lines.join('\n')}\n---\nBody\n`);
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 6 }), texts => {
        expectSame(
          writeFiles(tempDirectory(), Object.fromEntries(texts.map((each, index) => [`${index}/SKILL.md`, each]))),
        );
      }),
      { numRuns: 60 },
    );
  });
});

describe('AS-09 a look that began before anybody asked', () => {
  const SETTLE_MS = 2500;
  const expectSameNow = (place: string, early: LookAhead) => expectSame(place, early, Date.now);

  const root = () => skillsIn({ a: 'A.', b: 'B.', c: 'Use when: asked.' });

  test('finds the same, once', async () => {
    const place = root();
    await sleep(SETTLE_MS);
    const early = always();
    early.start(place);
    expect([early.startedAt(place), early.startedAt('/elsewhere')]).toEqual([expect.any(Number), null]);
    expectSameNow(place, early);
    expect(early.startedAt(place)).toBeNull();
    expectSameNow(place, early);
  });

  test('also when it was done long before, with more than goes together', async () => {
    const description = (index: number) => (index % 7 === 0 ? 'Use when: asked.' : 'x'.repeat(500));
    const place = skillsIn(
      Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`s-${index}`, description(index)])),
    );
    for (let index = 0; index < 600; index += 11) rmSync(join(place, `s-${index}/SKILL.md`));
    await sleep(SETTLE_MS);
    const early = always();
    early.start(place);
    await sleep(500);
    expectSameNow(place, early);
  });

  test('changes nothing in the order of the places', () => {
    const [first, late, last] = [root(), root(), root()];
    const places = [
      { kind: 'project' as const, path: first },
      { kind: 'user' as const, path: late },
      { kind: 'bundled' as const, path: last },
    ];
    symlinkSync(first, join(late, 'z'));
    symlinkSync(late, join(last, 'z'));
    const early = always();
    early.start(late);
    const walked: string[] = [];
    const load = (path: string): Records => {
      walked.push(path);
      return new Map();
    };
    const cache: IndexCache = { load, save: () => undefined };
    expect(discover(places, { cache, lookAhead: early })).toEqual(discover(places, { lookAhead: null }));
    expect(walked).toEqual([first, last, late]);
  });

  test('what changed since then is not remembered as settled', async () => {
    const place = root();
    const early = always();
    early.start(place);
    const saved: number[] = [];
    const cache: IndexCache = { load: () => new Map(), save: (_root, records) => void saved.push(records.size) };
    await sleep(SETTLE_MS);
    discover([user(place)], { cache, lookAhead: early });
    discover([user(place)], { cache, lookAhead: early });
    expect(saved).toEqual([2]);
  });

  test('lists the directory too, and what came since then is found all the same', async () => {
    const place = skillsIn({ a: 'A.', 'w\u00f6rld': 'Named oddly.', '.hidden': 'H.' });
    writeFileSync(join(place, 'README.md'), '');
    symlinkSync('a', join(place, 'link'));
    const names = () => {
      const { folders, links, files } = early.list(place, 10_000) ?? {};
      return { folders, links, files };
    };
    let early = always();
    early.start(place);
    expect(names()).toEqual({ folders: ['.hidden', 'a', 'w\u00f6rld'], links: ['link'], files: [] });
    expect(early.list('/elsewhere', 10_000)).toBeNull();
    early.close();
    early = always();
    early.start(place);
    await sleep(500);
    skillsIn({ late: 'L.' }, place);
    expect(discover([user(place)], { lookAhead: early }).skills.map(({ name }) => name)).toContain('late');
    early.close();
  });

  test('of more names than are said together', () => {
    const place = skillsIn({ a: 'A.' });
    const names = Array.from({ length: 1500 }, (_, index) => `${'n'.repeat(100)}-${1000 + index}`);
    for (const name of names) mkdirSync(join(place, name));
    const early = always();
    early.start(place);
    expect(early.list(place, 10_000)?.folders).toEqual(['a', ...names]);
    expect(discover([user(place)], { lookAhead: early }).skills.map(({ name }) => name)).toEqual(['a']);
    early.close();
  });

  test('and is ended when nobody asks', async () => {
    const slow = join(tempDirectory(), 'slow');
    const pid = join(tempDirectory(), 'pid');
    writeFileSync(slow, `#!/bin/sh\necho $$ > ${pid}\nexec /bin/sleep 60\n`);
    chmodSync(slow, 0o755);
    const early = new ProgramLookAhead(slow, 1);
    early.start(root());
    await vi.waitFor(() => expect(readFileSync(pid, 'utf8')).toMatch(/\d\n/), 10_000);
    early.close();
    const number = Number(readFileSync(pid, 'utf8'));
    await vi.waitFor(() => expect(() => process.kill(number, 0)).toThrow(), 10_000);
  });
});

test('AS-09 plain skills are looked at again and not remembered, those that take time are remembered', () => {
  const plain = skillsIn(Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`s-${index}`, `N ${index}.`])));
  expect(scan(plain, always()).records.map(({ path }) => path)).toEqual([plain]);
  expect(scan(plain, null).records).toHaveLength(41);
  const slow = skillsIn({ a: 'A.', b: 'Use when: asked.', c: 'C.' });
  expect(scan(slow, always()).records.map(({ path }) => path)).toEqual([slow, join(slow, 'b')]);
});

test.skipIf(cpus().length < 2)('whoever ends the program ends both halves of it', async () => {
  const folder = skillsIn(
    Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`s-${index}`, 'x'.repeat(1000)])),
  );
  // Nobody reads: both wait until they are ended.
  const pipes = ['1', '3'].map(name => {
    const path = join(tempDirectory(), name);
    execFileSync('mkfifo', [path]);
    return openSync(path, 'r+');
  });
  const child = spawn(program, [], { cwd: folder, stdio: ['ignore', pipes[0], 'ignore', pipes[1]] });
  const halves = () => childrenOf(child.pid ?? 0);
  await vi.waitFor(() => expect(halves()).toHaveLength(1), 10_000);
  const [half = 0] = halves();
  child.kill('SIGKILL');
  await vi.waitFor(() => expect(commandOf(half)).toBe(''), 10_000);
  for (const pipe of pipes) closeSync(pipe);
});

describe('what the program said', () => {
  const left = () =>
    ['/dev/shm', tmpdir()].flatMap(place =>
      readdirSync(place).filter(name => name.startsWith(`skillbox-scan-${process.pid}-`)),
    );

  test('leaves no file', () => {
    const early = always();
    early.start(skillsIn({ a: 'A.' }));
    expect(left()).toEqual([]);
    early.close();
  });

  test('is kept on the disk where there is no room for it in memory', () => {
    const started = startProgram(program, skillsIn({ a: 'A.' }), ['/nowhere', tempDirectory()]);
    expect(started?.read(0, 0, Buffer.alloc(1024), Date.now() + 10_000)).toBeGreaterThan(0);
    started?.close();
    expect(startProgram(program, '/', ['/nowhere'])).toBeNull();
  });

  test('goes into nothing that somebody put in its place', () => {
    const place = tempDirectory();
    const kept = join(place, 'kept');
    writeFileSync(kept, 'mine');
    symlinkSync(kept, join(place, 'link'));
    for (const name of ['kept', 'link']) {
      expect(startProgram(program, skillsIn({ a: 'A.' }), [place], () => name)).toBeNull();
    }
    expect([readFileSync(kept, 'utf8'), readdirSync(place)]).toEqual(['mine', ['kept', 'link']]);
  });
});

describe('AS-09 a scan without the program, or with one that fails, looks itself', () => {
  const root = () => skillsIn({ a: 'A.', b: 'B.', c: 'C.' });

  test.each([
    ['is not there', '/nowhere/skillbox-scan'],
    ['fails', '/bin/false'],
    ['says nothing', '/bin/true'],
  ])('that %s', (_what, path) => {
    expectSame(root(), new ProgramLookAhead(path, 1));
  });

  test('that would say more than the disk should hold', () => {
    const folder = skillsIn({ a: `---\nname: a\ndescription: ${'x'.repeat(16_000)}\n---\n` });
    for (let index = 0; index < 5000; index++) {
      mkdirSync(join(folder, `b-${index}`));
      linkSync(join(folder, 'a/SKILL.md'), join(folder, `b-${index}/SKILL.md`));
    }
    const said = ['1', '3'].map(name => join(tempDirectory(), name));
    const [first, second] = said.map(path => openSync(path, 'w'));
    const { status, signal } = spawnSync(program, [], { cwd: folder, stdio: ['ignore', first, 'ignore', second] });
    // It ends itself: whom the system ends for it leaves an image of its memory in the folder that it looked at.
    expect({ status, signal }).toEqual({ status: 2, signal: null });
    for (const path of said) expect(statSync(path).size).toBeLessThanOrEqual(32 * 1024 ** 2);
    expectSame(folder);
  });

  test('that says only half of it', () => {
    const half = join(tempDirectory(), 'half');
    writeFileSync(half, `#!/bin/sh\n${program} | head -c 200\n`);
    chmodSync(half, 0o755);
    expectSame(root(), new ProgramLookAhead(half, 1));
  });

  test('that takes too long is ended, and the scan says that it took too long', () => {
    const slow = join(tempDirectory(), 'slow');
    writeFileSync(slow, '#!/bin/sh\nexec sleep 60\n');
    chmodSync(slow, 0o755);
    const start = Date.now();
    discover([user(root())], { limits: { ...WALK_LIMITS, maxMs: 300 }, lookAhead: new ProgramLookAhead(slow, 1) });
    expect(Date.now() - start).toBeLessThan(30_000);
  });

  test('and few folders are not worth starting it', () => {
    const marker = join(tempDirectory(), 'marker');
    const spy = join(tempDirectory(), 'spy');
    writeFileSync(spy, `#!/bin/sh\n: > ${marker}\n`);
    chmodSync(spy, 0o755);
    expectSame(root(), new ProgramLookAhead(spy));
    expect(existsSync(marker)).toBe(false);
  });
});
