import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { digestFolder, openArchive, openDirectory, writeArchive } from '../../src/skill/index.ts';
import { descriptor, makeZip, zip64Extra } from './make-zip.ts';
import { codes, collect, contents, DEMO, digestOf, paths, plant, run, scratch, type Tree } from './scratch.ts';

describe('X-10 a folder, its zip and the unpacked zip are one skill', () => {
  const mixed: Tree = {
    ...DEMO,
    '.skillboxignore': 'drafts\n!.vscode\n',
    'drafts/a': 'a',
    '.vscode/x': 'v',
    'node_modules/m': 'm',
  };

  test('our own zip', async () => {
    const base = scratch();
    const folder = openDirectory(plant(`${base}/s`, mixed));
    await writeArchive(folder, `${base}/a.zip`);
    run('unzip', ['-q', '../a.zip'], plant(`${base}/unpacked`, {}));
    const digest = await digestFolder(folder);
    expect([await digestOf(`${base}/a.zip`), await digestOf(`${base}/unpacked`)]).toEqual([digest, digest]);
    const archive = await openArchive(`${base}/a.zip`);
    expect(contents(archive)).toEqual(contents(folder));
    expect(await collect(archive.stream('assets/noise.bin'))).toEqual(DEMO['assets/noise.bin']);
    archive.close();
  });

  const packers: [string, (base: string) => void][] = [
    ['zip -r of the folder', base => run('zip', ['-qr', 'a.zip', 's'], base)],
    ['zip -r inside the folder', base => run('zip', ['-qr', '../a.zip', '.'], `${base}/s`)],
    ['zip -r through a pipe, with data descriptors', base => run('sh', ['-c', 'zip -qr - s | cat > a.zip'], base)],
    ['zip -0', base => run('zip', ['-q0r', 'a.zip', 's'], base)],
    ['zip with ZIP64 forced', base => run('zip', ['-qr', '-fz', 'a.zip', 's'], base)],
    ['python zipfile', base => run('python3', ['-c', PYTHON, 'plain'], base)],
    ['python zipfile to a pipe', base => run('python3', ['-c', PYTHON, 'pipe'], base)],
    ['python zipfile with ZIP64 forced', base => run('python3', ['-c', PYTHON, 'zip64'], base)],
    ['python -m zipfile', base => run('python3', ['-m', 'zipfile', '-c', 'a.zip', 's'], base)],
  ];
  test.each(packers)('SB-13 %s', async (_title, make) => {
    const base = scratch();
    const folder = openDirectory(plant(`${base}/s`, mixed));
    make(base);
    const archive = await openArchive(`${base}/a.zip`);
    expect(contents(archive)).toEqual(contents(folder));
    expect(await digestFolder(archive)).toBe(await digestFolder(folder));
    archive.close();
  });

  test('SB-13 python zipfile without unix modes: nothing is executable', async () => {
    const base = scratch();
    const folder = openDirectory(plant(`${base}/s`, DEMO));
    run('python3', ['-c', PYTHON, 'dos'], base);
    const archive = await openArchive(`${base}/a.zip`);
    expect(archive.files).toEqual(folder.files.map(file => ({ ...file, executable: false })));
    archive.close();
  });
});

/** Packs `s` into a.zip in one of the ways that python offers. */
const PYTHON = `
import os, sys, zipfile
way = sys.argv[1]
class Pipe:
    def __init__(self, f): self.f = f
    def write(self, b): return self.f.write(b)
    def flush(self): self.f.flush()
with open('a.zip', 'wb') as f, zipfile.ZipFile(Pipe(f) if way == 'pipe' else f, 'w', zipfile.ZIP_DEFLATED) as z:
    for at, dirs, files in os.walk('s'):
        for name in files:
            path = os.path.join(at, name)
            info = zipfile.ZipInfo.from_file(path)
            info.compress_type = zipfile.ZIP_DEFLATED
            if way == 'dos':
                info.create_system, info.external_attr = 0, 0x20
            with open(path, 'rb') as source, z.open(info, 'w', force_zip64=way == 'zip64') as target:
                target.write(source.read())
`;

describe('SB-01 where the files lie in an archive', () => {
  async function openItems(...names: string[]) {
    const path = `${scratch()}/a.zip`;
    writeFileSync(
      path,
      makeZip(names.map(name => (name.endsWith('/') ? { name, mode: 0o040755, dos: 0x10 } : { name, content: name }))),
    );
    const folder = await openArchive(path);
    folder.close();
    return folder;
  }

  test.each([
    ['at the root', ['SKILL.md', 'a/b'], null, ['SKILL.md', 'a/b']],
    ['in one top folder', ['demo/', 'demo/SKILL.md', 'demo/a/', 'demo/a/b'], 'demo', ['SKILL.md', 'a/b']],
    ['in a top folder with other manifests', ['demo/skill.yaml', 'demo/x'], 'demo', ['skill.yaml', 'x']],
    [
      'beside what macOS adds',
      ['demo/SKILL.md', '__MACOSX/demo/._SKILL.md', '.DS_Store', 'demo/.DS_Store'],
      'demo',
      ['SKILL.md'],
    ],
    ['at the root beside what macOS adds', ['SKILL.md', '__MACOSX/._SKILL.md'], null, ['SKILL.md']],
    ['in two folders', ['a/SKILL.md', 'b/SKILL.md'], null, ['a/SKILL.md', 'b/SKILL.md']],
    ['in a folder with a prefix of its name', ['a/SKILL.md', 'ab/x'], null, ['a/SKILL.md', 'ab/x']],
    ['in a folder without a manifest', ['scripts/main.py'], null, ['scripts/main.py']],
    ['nowhere', [], null, []],
  ])('%s', async (_title, names, name, expected) => {
    const folder = await openItems(...names);
    expect([folder.name, paths(folder)]).toEqual([name, expected]);
  });

  test('a secret in an archive is left out and told', async () => {
    const folder = await openItems('demo/SKILL.md', 'demo/.env', 'demo/sub/id_rsa');
    expect([paths(folder), codes(folder)]).toEqual([
      ['SKILL.md'],
      ['folder-secret-file .env', 'folder-secret-file sub/id_rsa'],
    ]);
  });
});

describe('SB-13 forms of zip that are unusual but right', () => {
  const open = async (bytes: Buffer) => {
    const path = `${scratch()}/a.zip`;
    writeFileSync(path, bytes);
    return openArchive(path);
  };

  test.each(['signed', 'bare', 'wide', 'wide-bare'] as const)('a data descriptor that is %s', async form => {
    const local = { crc: 0, packedSize: 0, size: 0 };
    const folder = await open(
      makeZip([
        { name: 'SKILL.md', content: 'hello', flags: 0x808, local, after: descriptor('hello', form, 5) },
        { name: 'b', content: 'x' },
      ]),
    );
    expect(folder.read('SKILL.md', 10).toString()).toBe('hello');
    folder.close();
  });

  test('ZIP64 sizes in both headers', async () => {
    const unset = 0xffffffff;
    const extra = zip64Extra(5, 5);
    const folder = await open(
      makeZip([{ name: 'SKILL.md', content: 'hello', packedSize: unset, size: unset, extra, local: { extra } }], {
        zip64: {},
      }),
    );
    expect(folder.read('SKILL.md', 10).toString()).toBe('hello');
    folder.close();
  });

  test('an archive comment, entry comments, setuid bits (ignored), a nested archive (a plain file)', async () => {
    const inner = makeZip([{ name: '../../evil', content: 'x' }]);
    const folder = await open(
      makeZip(
        [
          { name: 'inner.zip', content: inner, comment: Buffer.from('c') },
          { name: 'run', mode: 0o106755, content: 'x' },
          { name: 'run.dos', mode: 0o100755, madeBy: 0 },
        ],
        { comment: Buffer.from('hello') },
      ),
    );
    expect(folder.files).toEqual([
      { path: 'inner.zip', size: inner.length, executable: false },
      { path: 'run', size: 1, executable: true },
      // Only unix gives those bits this meaning.
      { path: 'run.dos', size: 0, executable: false },
    ]);
    expect(folder.read('inner.zip', 1000).equals(inner)).toBe(true);
    folder.close();
  });
});
