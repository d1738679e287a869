import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectScope, type Scope } from '../../src/install/index.ts';
import { change, repair, wasInterrupted } from '../../src/install/transaction.ts';
import { tempDirectory } from '../temp.ts';

const base = tempDirectory();
const data = join(base, 'data');
let count = 0;
const child = join(import.meta.dirname, '../support/install-child.ts');

function scope(): Scope {
  const root = join(base, String(++count));
  mkdirSync(join(root, '.git'), { recursive: true });
  mkdirSync(join(root, 'old-folder'));
  writeFileSync(join(root, 'old-folder/file'), 'old');
  writeFileSync(join(root, 'lock'), 'old');
  return projectScope(root, '/nowhere', data);
}

/** A folder replaced, a folder made in a new place, one taken away, and a file replaced at the end. */
async function prepare(root: string, staging: string) {
  for (const name of ['a', 'b']) {
    mkdirSync(join(staging, name));
    writeFileSync(join(staging, name, 'file'), 'new');
  }
  writeFileSync(join(staging, 'lock'), 'new');
  return [
    { path: join(root, 'old-folder'), staged: 'a' },
    { path: join(root, 'deep/down/fresh'), staged: 'b' },
    { path: join(root, 'lock'), staged: 'lock' },
  ];
}

function state(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter(path => !path.startsWith('.'))
    .sort()
    .map(path => (/file$|lock$/.test(path) ? `${path}=${readFileSync(join(root, path), 'utf8')}` : path));
}

const OLD = ['lock=old', 'old-folder', 'old-folder/file=old'];
const NEW = [
  'deep',
  'deep/down',
  'deep/down/fresh',
  'deep/down/fresh/file=new',
  'lock=new',
  'old-folder',
  'old-folder/file=new',
];

describe('all or nothing', () => {
  test('all of it, and nothing left aside', async () => {
    const at = scope();
    await change(
      at,
      staging => prepare(at.root, staging),
      async () => undefined,
    );
    expect(state(at.root)).toEqual(NEW);
    expect(existsSync(at.staging)).toBe(false);
  });

  test('nothing when it is refused at the last moment', async () => {
    const at = scope();
    const refused = change(
      at,
      staging => prepare(at.root, staging),
      () => Promise.reject(new Error('no')),
    );
    await expect(refused).rejects.toThrow('no');
    expect(state(at.root)).toEqual(OLD);
    expect(existsSync(at.staging)).toBe(false);
  });

  test('nothing when a step in the middle fails', async () => {
    const at = scope();
    const broken = change(
      at,
      async staging => [...(await prepare(at.root, staging)), { path: join(at.root, 'x'), staged: 'not-there' }],
      async () => undefined,
    );
    await expect(broken).rejects.toMatchObject({ code: 'UNWRITABLE' });
    expect(state(at.root)).toEqual(OLD);
  });

  test('one at a time', async () => {
    const at = scope();
    await change(
      at,
      async () => [],
      async () => {
        await expect(
          change(
            at,
            async () => [],
            async () => undefined,
          ),
        ).rejects.toMatchObject({ code: 'INSTALL_BUSY' });
      },
    );
  });

  test('one at a time, with another data directory too', async () => {
    const at = scope();
    const elsewhere = projectScope(at.root, '/nowhere', join(base, 'other-data'));
    await change(
      at,
      staging => prepare(at.root, staging),
      async () => {
        const other = change(
          elsewhere,
          staging => prepare(at.root, staging),
          async () => undefined,
        );
        await expect(other).rejects.toMatchObject({ code: 'INSTALL_BUSY' });
        expect(state(at.root)).toEqual(OLD);
      },
    );
    expect([state(at.root), existsSync(at.staging)]).toEqual([NEW, false]);
  });

  test('what one was killed at is not taken back over what another data directory changed since, and is kept', async () => {
    const at = scope();
    const process_ = spawn(process.execPath, [child, at.root, data, '4'], { stdio: ['ignore', 'pipe', 'inherit'] });
    await firstWord(process_);
    process_.kill('SIGKILL');
    await new Promise(resolve => process_.once('close', resolve));
    const elsewhere = projectScope(at.root, '/nowhere', join(base, 'other-data'));
    await change(
      elsewhere,
      staging => prepare(at.root, staging),
      async () => undefined,
    );
    await repair(at);
    expect([state(at.root), wasInterrupted(at)]).toEqual([NEW, false]);
    const [left = ''] = readdirSync(at.staging);
    expect(readFileSync(join(at.staging, left, 'old/0/file'), 'utf8')).toBe('old');
  });

  /** The child stops itself after so many steps and waits; then it is killed as nobody can prepare for. */
  test.each([1, 2, 3, 4, 5, 6, 7])(
    'killed after step %i: the next one finds the old state, or the new one whole',
    async steps => {
      const at = scope();
      const process_ = spawn(process.execPath, [child, at.root, data, String(steps)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const reached = await firstWord(process_);
      process_.kill('SIGKILL');
      await new Promise(resolve => process_.once('close', resolve));
      if (reached === 'stopped') expect(wasInterrupted(at)).toBe(true);
      await repair(at);
      expect([OLD, NEW]).toContainEqual(state(at.root));
      expect(state(at.root)).toEqual(reached === 'ended' ? NEW : OLD);
      expect(existsSync(at.staging)).toBe(false);
      rmSync(at.root, { recursive: true });
    },
  );
});

function firstWord(process_: ChildProcess): Promise<string> {
  return new Promise(resolve => {
    process_.stdout?.once('data', (text: Buffer) => resolve(text.toString().trim()));
  });
}
