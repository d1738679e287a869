import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ErrorCode } from '../../src/base/index.ts';
import { SkillboxError } from '../../src/base/index.ts';
import { digestFolder, type Folder, openFolder } from '../../src/skill/index.ts';

/** An empty directory that is gone after the test. */
export function scratch(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'skillbox-test-')));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export type Tree = Record<string, string | Buffer | { content: string | Buffer; executable: boolean }>;

/** Writes the files in the order given, so that tests can vary it. */
export function plant(root: string, tree: Tree): string {
  mkdirSync(root, { recursive: true });
  for (const [path, value] of Object.entries(tree)) {
    const { content, executable } =
      typeof value === 'string' || Buffer.isBuffer(value) ? { content: value, executable: false } : value;
    const full = join(root, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, content);
    chmodSync(full, executable ? 0o755 : 0o644);
  }
  return root;
}

/** Lets the file system's clock tick, which older kernels do every few milliseconds: the next write is then a later one. */
export const tick = (): Promise<void> => new Promise(done => setTimeout(done, 20));

/** A skill with a bit of everything. */
export const DEMO: Tree = {
  'SKILL.md': '---\nname: demo\n---\nbody\n',
  'scripts/main.sh': { content: '#!/bin/sh\necho hi\n', executable: true },
  'references/große datei.md': 'x'.repeat(50_000),
  'assets/noise.bin': Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * at * 31 + (at >> 3)) % 251)),
  empty: '',
};

export const paths = (folder: Folder): string[] => folder.files.map(file => file.path);

export const codes = (folder: Folder): string[] => folder.problems.map(problem => `${problem.code} ${problem.file}`);

/** Everything a reader of the folder can see of its files. */
export function contents(folder: Folder): Record<string, string> {
  return Object.fromEntries(
    folder.files.map(file => [
      file.path,
      `${file.executable ? 'x' : '-'} ${folder.read(file.path, file.size).toString('base64')}`,
    ]),
  );
}

/** The SkillboxError that `act` ends with; anything else fails the test. */
export async function refusal(act: () => unknown, code?: ErrorCode): Promise<SkillboxError> {
  let error: unknown;
  try {
    await act();
  } catch (thrown) {
    error = thrown;
  }
  if (error === undefined) throw new Error('nothing was refused');
  if (!(error instanceof SkillboxError)) throw new Error('refused, but not by a SkillboxError', { cause: error });
  if (code !== undefined && error.code !== code)
    throw new Error(`refused with ${error.code}, not ${code}`, { cause: error });
  return error;
}

export async function collect(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

export function run(program: string, args: string[], cwd: string, input?: string): void {
  const child = spawnSync(program, args, { cwd, encoding: 'utf8', ...(input === undefined ? {} : { input }) });
  if (child.error !== undefined || child.status !== 0)
    throw new Error(`${program}: ${child.error?.message ?? child.stderr}`);
}

export async function digestOf(path: string): Promise<string> {
  const folder = await openFolder(path);
  try {
    return await digestFolder(folder);
  } finally {
    folder.close();
  }
}

/** What this process holds open below `root`. */
export function openDescriptors(root: string): string[] {
  return readdirSync('/proc/self/fd')
    .map(fd => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        // Closed meanwhile, as is the one that listed the directory.
        return '';
      }
    })
    .filter(path => path.startsWith(root));
}
