import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { hostTool } from '../../src/layers/tools.ts';
import { tempDir } from './temp.ts';
import { SEARCH } from './workshop.ts';

const PYTHON = '/usr/bin/python3';
const DIST = '/usr/lib/python3/dist-packages';

export const canMakePython = existsSync(PYTHON) && existsSync(join(DIST, 'pip'));

/** What a program of the host needs of its libraries, at the same paths. */
function bringLibraries(root: string, programs: readonly string[]): void {
  const listed = execFileSync('ldd', [...programs], { encoding: 'utf8' });
  for (const [, path = ''] of listed.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)) {
    const at = join(root, path);
    if (existsSync(at)) continue;
    mkdirSync(dirname(at), { recursive: true });
    cpSync(realpathSync(path), at);
  }
}

function begin(): string {
  const root = join(tempDir('image', 0o755), 'root');
  for (const name of ['etc', 'usr/bin', 'usr/local/bin']) mkdirSync(join(root, name), { recursive: true });
  writeFileSync(join(root, 'etc/release'), 'an image of its own\n');
  return root;
}

/** Two roots of images with this host's Python in them, with pip and without: all from files, nothing is fetched. */
export function makePythonImages(): { withPip: string; bare: string } {
  const root = begin();
  const real = realpathSync(PYTHON);
  const library = execFileSync(PYTHON, ['-I', '-c', 'import sysconfig; print(sysconfig.get_path("stdlib"))'], {
    encoding: 'utf8',
  }).trim();
  cpSync(real, join(root, real));
  symlinkSync(real, join(root, 'usr/bin/python3'));
  const plain = (path: string) =>
    !/\/(test|idlelib|ensurepip|lib2to3|tkinter|turtledemo|pydoc_data|config-[^/]*)$/.test(path);
  // With their times: compiled files are believed only while those of their sources are the same.
  const whole = { recursive: true, filter: plain, preserveTimestamps: true } as const;
  cpSync(library, join(root, library), { ...whole, dereference: true });
  const modules = join(library, 'lib-dynload');
  const native = readdirSync(modules).filter(name => name.endsWith('.so'));
  bringLibraries(root, [real, ...native.map(name => join(modules, name))]);
  const withPip = sameFiles(root);
  cpSync(join(DIST, 'pip'), join(withPip, DIST, 'pip'), whole);
  return { withPip, bare: root };
}

/** The same with the Node that runs the tests; npm lies where `place` says. */
export async function makeNodeImages(place: string): Promise<{ withNpm: string; bare: string }> {
  const root = begin();
  const node = join(root, 'usr/local/bin/node');
  cpSync(realpathSync(process.execPath), node);
  chmodSync(node, 0o755);
  bringLibraries(root, [realpathSync(process.execPath)]);
  const withNpm = sameFiles(root);
  const { prefix } = await hostTool('npm', { search: SEARCH, notes: tempDir('notes') });
  cpSync(dirname(dirname(prefix[0] ?? '')), join(withNpm, place), { recursive: true });
  return { withNpm, bare: root };
}

/** Another directory with the very same files: no run can write to them. */
function sameFiles(root: string): string {
  const other = join(tempDir('image', 0o755), 'root');
  execFileSync('cp', ['-al', root, other]);
  return other;
}
