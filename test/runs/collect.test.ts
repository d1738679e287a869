import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { COLLECT_LIMITS, collectFiles, collectOutput } from '../../src/runs/collect.ts';
import type { Excerpt } from '../../src/runs/envelope.ts';
import type { Planned } from '../../src/runs/plan.ts';
import { recordResults } from '../../src/runs/results.ts';
import type { End, Outcome } from '../../src/sandbox/index.ts';
import { openStore, type Store } from '../../src/store/index.ts';
import { openDescriptors } from '../skill/scratch.ts';
import { NOBODY } from '../support/drivers.ts';
import { bytesOf, newRecord, readAll, WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const SECRET = 'the-secret-of-the-host';

/** A directory as a run leaves it, beside a file of the host that it must not get at. */
function newOut(): { out: string; files: string; secret: string } {
  const root = tempDir('collect');
  const secret = join(root, 'host');
  mkdirSync(secret);
  writeFileSync(join(secret, 'secret.json'), JSON.stringify(SECRET));
  const out = join(root, 'out');
  mkdirSync(join(out, 'files'), { recursive: true });
  return { out, files: join(out, 'files'), secret: join(secret, 'secret.json') };
}

function newStore(): { store: Store; directory: string } {
  const directory = tempDir('store');
  const store = openStore(directory, WRITER);
  onTestFinished(() => store.close());
  return { store, directory };
}

describe('output.json', () => {
  const read = (out: string, limits = COLLECT_LIMITS) => collectOutput(out, 'output.json', limits);

  test('SB-08 not written is null; written is its value', () => {
    const { out } = newOut();
    expect(read(out)).toEqual({ value: null, warnings: [] });
    writeFileSync(join(out, 'output.json'), '{"a":1}');
    expect(read(out)).toEqual({ value: { a: 1 }, warnings: [] });
  });

  test.each<[string, string, (path: string, secret: string) => void]>([
    ['a link to a file of the host', 'a link', (path, secret) => symlinkSync(secret, path)],
    ['a link that leads nowhere', 'a link', path => symlinkSync('/nowhere', path)],
    ['a hard link', 'a hard link', (path, secret) => linkSync(secret, path)],
    ['a directory', 'not a regular file', path => mkdirSync(path)],
    ['a FIFO', 'not a regular file', path => void execFileSync('mkfifo', [path])],
  ])('SB-08 %s is refused as %s', (_name, word, make) => {
    const { out, secret } = newOut();
    make(join(out, 'output.json'), secret);
    expect(read(out)).toEqual({ problem: `output.json is ${word}` });
    expect(openDescriptors(out)).toEqual([]);
  });

  test('SB-08 a socket is refused', async () => {
    const { out } = newOut();
    const server = createServer().listen(join(out, 'output.json'));
    await new Promise(resolve => server.once('listening', resolve));
    expect(read(out)).toEqual({ problem: 'output.json is not a regular file' });
    server.close();
  });

  test.runIf(process.getuid?.() === 0)('SB-08 a device is refused', () => {
    const { out } = newOut();
    execFileSync('mknod', [join(out, 'output.json'), 'c', '1', '5']);
    expect(read(out)).toEqual({ problem: 'output.json is not a regular file' });
  });

  test('SB-08 over the limit, also when it is sparse, it is not read', () => {
    const { out } = newOut();
    writeFileSync(join(out, 'output.json'), '');
    truncateSync(join(out, 'output.json'), 2 ** 40);
    expect(read(out)).toHaveProperty('problem', expect.stringContaining('1099511627776 bytes'));
    writeFileSync(join(out, 'output.json'), '"123"');
    expect(read(out, { ...COLLECT_LIMITS, outputBytes: 5 })).toHaveProperty('value', '123');
    expect(read(out, { ...COLLECT_LIMITS, outputBytes: 4 })).toHaveProperty('problem');
  });
});

describe('files', () => {
  test('SB-09 each file is a blob, and all are one tar.gz that tar reads', async () => {
    const { out, files } = newOut();
    const { store } = newStore();
    const long = `${'d'.repeat(90)}/${'n'.repeat(120)}.txt`;
    mkdirSync(join(files, 'd'.repeat(90)));
    for (const [path, content] of [
      ['b.txt', 'b'],
      ['a ö.txt', ''],
      [long, 'x'.repeat(200_000)],
    ] as const)
      writeFileSync(join(files, path), content);
    const { artifacts, archive, warnings, problem } = await collectFiles(out, 'files', store.blobs, COLLECT_LIMITS);
    expect({ warnings, problem }).toEqual({ warnings: [], problem: null });
    expect(artifacts.map(({ path, bytes }) => [path, bytes])).toEqual([
      ['a ö.txt', 0],
      ['b.txt', 1],
      [long, 200_000],
    ]);
    for (const { path, sha256 } of artifacts)
      expect((await readAll(await store.blobs.read(sha256))).equals(readFileSync(join(files, path)))).toBe(true);
    const unpacked = tempDir('unpacked');
    writeFileSync(join(unpacked, 'all.tar.gz'), await readAll(await store.blobs.read(archive?.sha256 ?? '')));
    execFileSync('tar', ['-xzf', 'all.tar.gz'], { cwd: unpacked });
    for (const { path } of artifacts)
      expect(readFileSync(join(unpacked, path)).equals(readFileSync(join(files, path)))).toBe(true);
  });

  test('SB-09 none is no archive', async () => {
    const { out } = newOut();
    const { store } = newStore();
    const nothing = { artifacts: [], archive: null, warnings: [], problem: null };
    expect(await collectFiles(out, 'files', store.blobs, COLLECT_LIMITS)).toEqual(nothing);
    expect(await collectFiles(out, 'gone', store.blobs, COLLECT_LIMITS)).toEqual(nothing);
  });

  test('SB-09 a directory that became a link is not entered, wherever it stands', async () => {
    const { out, files, secret } = newOut();
    const { store } = newStore();
    execFileSync('rmdir', [files]);
    symlinkSync(join(secret, '..'), files);
    expect(await collectFiles(out, 'files', store.blobs, COLLECT_LIMITS)).toMatchObject({
      artifacts: [],
      problem: 'the directory for files is not a directory',
    });
    execFileSync('rm', [files]);
    mkdirSync(files);
    symlinkSync(join(secret, '..'), join(files, 'inner'));
    const { artifacts, warnings } = await collectFiles(out, 'files', store.blobs, COLLECT_LIMITS);
    expect({ artifacts, warnings }).toEqual({
      artifacts: [],
      warnings: ['inner was left out: it is not a regular file'],
    });
  });

  test('SB-09 links, hard links, FIFOs and odd names are left out by name; the rest is kept', async () => {
    const { out, files, secret } = newOut();
    const { store } = newStore();
    symlinkSync(secret, join(files, 'link'));
    linkSync(secret, join(files, 'hard'));
    execFileSync('mkfifo', [join(files, 'fifo')]);
    writeFileSync(join(files, 'good.txt'), 'good');
    for (const name of ['new\nline', 'esc\u001b[2J', 'bidi\u202etxt', '-rf ', 'C:', 'con', 'back\\slash'])
      writeFileSync(join(files, name), 'x');
    writeFileSync(Buffer.concat([Buffer.from(`${files}/bad`), Buffer.from([0xff])]), 'x');
    const { artifacts, warnings } = await collectFiles(out, 'files', store.blobs, COLLECT_LIMITS);
    expect(artifacts.map(({ path }) => path)).toEqual(['good.txt']);
    expect(warnings).toHaveLength(11);
    expect(warnings.join('')).not.toMatch(/[\u0000-\u001f\u202e]/);
    expect(openDescriptors(out)).toEqual([]);
  });

  test('SB-09 too many, too large, or too deep', async () => {
    const { out, files } = newOut();
    const { store, directory } = newStore();
    for (let at = 0; at < 40; at++) writeFileSync(join(files, `bad\t${at}`), 'x');
    const odd = await collectFiles(out, 'files', store.blobs, COLLECT_LIMITS);
    expect(odd.warnings).toHaveLength(21);
    expect(odd.warnings.at(-1)).toBe('20 more were left out');
    const few = await collectFiles(out, 'files', store.blobs, { ...COLLECT_LIMITS, files: 10 });
    expect(few).toMatchObject({ artifacts: [], problem: 'more than 10 files were written' });
    execFileSync('bash', ['-c', 'rm -f "$1"/*; truncate -s 1000 "$1/a" "$1/b"', 'bash', files]);
    const large = await collectFiles(out, 'files', store.blobs, { ...COLLECT_LIMITS, totalBytes: 1999 });
    expect(large).toMatchObject({ artifacts: [], problem: 'the files have more than 1999 bytes' });
    expect(readdirSync(directory)).not.toContain('blobs');
    mkdirSync(join(files, Array.from({ length: 40 }, () => 'd').join('/')), { recursive: true });
    const deep = await collectFiles(out, 'files', store.blobs, COLLECT_LIMITS);
    expect(deep.artifacts).toHaveLength(2);
    expect(deep.warnings).toEqual([expect.stringContaining('deeper than 16 levels')]);
  });

  test.skipIf(process.getuid?.() === 0)('a directory that is closed to us is said', async () => {
    const { out, files } = newOut();
    mkdirSync(join(files, 'closed'));
    chmodSync(join(files, 'closed'), 0o000);
    onTestFinished(() => chmodSync(join(files, 'closed'), 0o700));
    const { warnings } = await collectFiles(out, 'files', newStore().store.blobs, COLLECT_LIMITS);
    expect(warnings).toEqual(['closed was left out: it is unreadable']);
  });

  test.runIf(process.getuid?.() === 0)('SB-08 what the run did to the permissions of its directory is undone', () => {
    const { out } = newOut();
    writeFileSync(join(out, 'output.json'), '{"a":1}');
    const module = pathToFileURL(join(import.meta.dirname, '../../src/runs/collect.ts')).href;
    const code = `const { collectOutput, COLLECT_LIMITS } = await import('${module}');
      console.log(JSON.stringify(collectOutput('${out}', 'output.json', COLLECT_LIMITS)));`;
    for (const path of [out, join(out, 'output.json')]) chownSync(path, NOBODY, NOBODY);
    chmodSync(dirname(out), 0o755);
    for (const mode of [0o000, 0o300]) {
      chmodSync(out, mode);
      const said = execFileSync(process.execPath, ['--input-type=module', '-e', code], { uid: NOBODY, gid: NOBODY });
      expect(JSON.parse(said.toString())).toEqual({ value: { a: 1 }, warnings: [] });
    }
  });

  test('a store that fails midway is told, and nothing stays open', async () => {
    const { out, files } = newOut();
    const { store } = newStore();
    for (const name of ['a', 'b']) writeFileSync(join(files, name), 'x'.repeat(100_000));
    let puts = 0;
    const failing = {
      ...store.blobs,
      put: async (content: AsyncIterable<Buffer>) => {
        if (++puts < 3) return store.blobs.put(content);
        for await (const _ of content) throw new Error('disk full');
        return store.blobs.put(bytesOf());
      },
    };
    await expect(collectFiles(out, 'files', failing, COLLECT_LIMITS)).rejects.toThrow('disk full');
    puts = 2;
    await expect(collectFiles(out, 'files', failing, COLLECT_LIMITS)).rejects.toThrow('disk full');
    expect(openDescriptors(out)).toEqual([]);
  });
});

test('a run that was ended while its sandbox was being made has brought nothing, and that is no fault', async () => {
  const record = newRecord();
  const planned = {
    invocation: { result: 'output', outputPath: '/sandbox/out/output.json', filesPath: '/sandbox/out/files' },
    spec: { mounts: [{ kind: 'out', at: '/sandbox/out', directories: [] }], limits: { diskBytes: 1000 } },
    redact: null,
  } as unknown as Planned;
  const ended = (end: End) => ({
    planned,
    outcome: { end } as Outcome,
    merged: {} as Excerpt,
    blobs: newStore().store.blobs,
    hostPath: () => join(tempDir('gone'), 'disk/1'),
    signal: new AbortController().signal,
  });
  await recordResults(record, ended({ kind: 'canceled' }));
  expect(record).toMatchObject({ artifacts: [], archive: null, error: null });
  await expect(recordResults(record, ended({ kind: 'exited', code: 0 }))).rejects.toThrow('ENOENT');
});
