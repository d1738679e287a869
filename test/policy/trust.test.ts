import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { holdsArrived, type SkillPlace, type TrustSettings, trustOf } from '../../src/policy/index.ts';
import { tempDirectory } from '../temp.ts';

const base = tempDirectory();
let home = '';
let count = 0;
const account = { uid: process.getuid?.() ?? null };
const asRoot = process.getuid?.() === 0;

beforeEach(() => {
  home = join(base, `home-${count++}`);
  for (const path of ['skills/mine', 'skills-evil/theirs', 'project/skills/a', 'bundled/git']) {
    mkdirSync(join(home, path), { recursive: true });
  }
});

const settings = (more: Partial<TrustSettings> = {}): TrustSettings => ({
  bundled: [join(home, 'bundled')],
  own: [join(home, 'skills'), join(home, 'not-there')],
  paths: [],
  publishers: [],
  account,
  ...more,
});
/** As a folder is opened: by its real path. */
const folder = (path: string): SkillPlace => {
  const full = join(home, path);
  return { kind: 'directory', path: existsSync(full) ? realpathSync.native(full) : full, publisher: null, files: [] };
};
const trust = (path: string, more: Partial<TrustSettings> = {}) => trustOf(folder(path), settings(more)).trust;
const why = (path: string, more: Partial<TrustSettings> = {}) => trustOf(folder(path), settings(more)).why;

describe('trust', () => {
  test('GB-17 bundled, user and untrusted, each with its reason', () => {
    expect(trustOf(folder('bundled/git'), settings())).toEqual({
      trust: 'bundled',
      publisher: null,
      why: 'It ships with Skillbox.',
    });
    expect(trust('skills/mine')).toBe('user');
    expect(trust('project/skills/a')).toBe('untrusted');
    expect(why('project/skills/a')).toContain('neither in your own skill directories nor trusted by you');
    expect(trust('gone')).toBe('untrusted');
  });

  describe('what came from an MCP server', () => {
    const lock = (text: string) => {
      mkdirSync(join(home, '.skillbox'));
      writeFileSync(join(home, '.skillbox/skills.lock'), text);
    };
    const entry = (kind: string) =>
      JSON.stringify({ skills: { mine: { source: { kind, server: 'mcp+https://a.example/' } } } });

    test("is not the user's for lying in a directory of theirs, nor is a skill inside it", () => {
      mkdirSync(join(home, 'skills/mine/skills/inner'), { recursive: true });
      mkdirSync(join(home, 'skills/other'));
      lock(entry('mcp'));
      expect(trust('skills/mine')).toBe('untrusted');
      expect(why('skills/mine')).toContain('came from the MCP server mcp+https://a.example/');
      expect(trust('skills/mine/skills/inner')).toBe('untrusted');
      expect(trust('skills/other')).toBe('user');
    });

    test('is trusted by its own name, and not by that of a folder around it', () => {
      lock(entry('mcp'));
      expect(trust('skills/mine', { paths: [home] })).toBe('untrusted');
      expect(trust('skills/mine', { paths: [join(home, 'skills/mine')] })).toBe('user');
    });

    test('what came otherwise is as before; a lock that cannot be read makes nothing trusted', () => {
      lock(entry('git'));
      expect(trust('skills/mine')).toBe('user');
      // Asked once for a whole directory, where there are thousands.
      expect(holdsArrived(join(home, 'skills'))).toBe(false);
      writeFileSync(join(home, '.skillbox/skills.lock'), 'broken');
      expect(trust('skills/mine')).toBe('untrusted');
      expect(holdsArrived(join(home, 'skills'))).toBe(true);
    });
  });

  test('covers what lies in a trusted folder, and nothing beside it', () => {
    const paths = [join(home, 'project')];
    expect(trust('project/skills/a', { paths })).toBe('user');
    expect(trust('project', { paths })).toBe('user');
    expect(trust('bundled/../project/skills/a', { paths })).toBe('user');
    expect(trust('project/../skills-evil/theirs', { paths })).toBe('untrusted');
    // A name that begins with two dots leads nowhere else.
    mkdirSync(join(home, 'project/..odd'));
    expect(trust('project/..odd', { paths })).toBe('user');
  });

  test('goes by whole names: skills-evil does not lie in skills', () => {
    expect(trust('skills-evil/theirs')).toBe('untrusted');
    expect(trust('skills-evil/theirs', { paths: [join(home, 'skills')] })).toBe('untrusted');
  });

  test('is left behind by a link that leaves', () => {
    symlinkSync(join(home, 'skills-evil/theirs'), join(home, 'skills/linked'));
    expect(trust('skills/linked')).toBe('untrusted');
    symlinkSync('../skills-evil', join(home, 'skills/up'));
    expect(trust('skills/up/theirs')).toBe('untrusted');
    symlinkSync(join(home, 'skills-evil/theirs'), join(home, 'bundled/linked'));
    expect(trust('bundled/linked')).toBe('untrusted');
    // A link from outside to something trusted is that thing.
    symlinkSync(join(home, 'skills/mine'), join(home, 'project/mine'));
    expect(trust('project/mine')).toBe('user');
  });

  test('is not passed on to a link that took the place of a trusted folder', () => {
    const paths = [join(home, 'project')];
    renameSync(join(home, 'project'), join(home, 'moved'));
    symlinkSync(join(home, 'skills-evil'), join(home, 'project'));
    expect(trust('project/theirs', { paths })).toBe('untrusted');
  });

  test('is not lent to what was read before a link to something trusted took its place', () => {
    const opened = folder('skills-evil/theirs');
    renameSync(opened.path, join(home, 'skills-evil/gone'));
    symlinkSync(join(home, 'skills/mine'), opened.path);
    expect(trustOf(opened, settings())).toMatchObject({
      trust: 'untrusted',
      why: expect.stringContaining('elsewhere'),
    });
  });

  test('of one’s own directory holds where it is a link that one made oneself', () => {
    const linked = join(home, 'dot-skills');
    symlinkSync(join(home, 'project/skills'), linked);
    expect(trust('dot-skills/a', { own: [linked] })).toBe('user');
  });

  test('ends where everybody can write, at the folder or on the way to it', () => {
    chmodSync(join(home, 'skills'), 0o777);
    expect(trust('skills/mine')).toBe('untrusted');
    expect(why('skills/mine')).toContain('can be written by everybody');
    // Sticky is not enough there: everybody may add files to what is trusted.
    chmodSync(join(home, 'skills'), 0o1777);
    expect(trust('skills/mine')).toBe('untrusted');
    chmodSync(join(home, 'skills'), 0o755);
    chmodSync(join(home, 'skills/mine'), 0o777);
    expect(trust('skills/mine')).toBe('untrusted');
    chmodSync(join(home, 'skills/mine'), 0o755);
    chmodSync(home, 0o777);
    expect(trust('skills/mine')).toBe('untrusted');
    expect(why('skills/mine')).toContain(`${home} can be written by everybody`);
    // Above it sticky will do: nobody else can replace what is ours.
    chmodSync(home, 0o1777);
    expect(trust('skills/mine')).toBe('user');
  });

  test('ends where everybody can write to a file of the skill, or beside one', () => {
    const files = ['SKILL.md', 'scripts/deep/run.sh', 'gone.md'];
    const mine = join(home, 'skills/mine');
    mkdirSync(join(mine, 'scripts/deep'), { recursive: true });
    for (const file of files.slice(0, 2)) writeFileSync(join(mine, file), 'x', { mode: 0o644 });
    const asked = () => trustOf({ ...folder('skills/mine'), files }, settings());
    expect(asked().trust).toBe('user');
    for (const [path, open, closed] of [
      ['SKILL.md', 0o666, 0o644],
      ['scripts/deep/run.sh', 0o757, 0o755],
      ['scripts/deep', 0o777, 0o755],
      // Sticky as well: others may add what the next run takes along.
      ['scripts', 0o1777, 0o755],
    ] as const) {
      chmodSync(join(mine, path), open);
      expect(asked(), path).toMatchObject({
        trust: 'untrusted',
        why: expect.stringContaining(`${path} can be written by everybody`),
      });
      chmodSync(join(mine, path), closed);
    }
    expect(asked().trust).toBe('user');
    if (!asRoot) return;
    chownSync(join(mine, 'scripts/deep/run.sh'), 12_345, 12_345);
    expect(asked().trust).toBe('untrusted');
  });

  test.skipIf(!asRoot)('ends at what belongs to another account (needs root)', () => {
    chownSync(join(home, 'skills/mine'), 12_345, 12_345);
    expect(trust('skills/mine')).toBe('untrusted');
    expect(why('skills/mine')).toContain('belongs to another account (uid 12345)');
    chownSync(join(home, 'skills/mine'), 0, 0);
    chownSync(home, 12_345, 12_345);
    expect(trust('skills/mine')).toBe('untrusted');
    // For that account itself it is its own; root's is everybody's ground.
    expect(trust('skills/mine', { account: { uid: 12_345 } })).toBe('user');
    expect(trust('skills/mine', { account: { uid: 4 } })).toBe('untrusted');
  });

  test.skipIf(!asRoot)('is not given through a link of another account (needs root)', () => {
    const linked = join(home, 'theirs');
    symlinkSync(join(home, 'project/skills'), linked);
    lchownSync(linked, 12_345, 12_345);
    expect(trust('project/skills/a', { own: [linked] })).toBe('untrusted');
    expect(why('project/skills/a', { own: [linked] })).toContain('is a link of another account (uid 12345)');
  });

  test('is not given through a link in a place where others can turn it', () => {
    mkdirSync(join(home, 'open'));
    chmodSync(join(home, 'open'), 0o777);
    const linked = join(home, 'open/skills');
    symlinkSync(join(home, 'project/skills'), linked);
    expect(trust('project/skills/a', { own: [linked] })).toBe('untrusted');
    expect(why('project/skills/a', { own: [linked] })).toContain('can be written by everybody');
  });

  test('of an archive goes by its own path, not by the folder that it was put into', () => {
    const path = join(home, 'skills/tool.zip');
    writeFileSync(path, 'PK');
    const archive: SkillPlace = { kind: 'archive', path, publisher: null, files: [] };
    expect(trustOf(archive, settings())).toMatchObject({ trust: 'untrusted', why: expect.stringContaining('archive') });
    expect(trustOf(archive, settings({ paths: [path] })).trust).toBe('user');
    chmodSync(path, 0o666);
    expect(trustOf(archive, settings({ paths: [path] })).trust).toBe('untrusted');
  });

  test('of a publisher is what a registry proved, by the whole name', () => {
    const of = (publisher: string | null) =>
      trustOf({ ...folder('project/skills/a'), publisher }, settings({ publishers: ['acme'] })).trust;
    expect([of('acme'), of('acme-evil'), of('Acme'), of(null)]).toEqual([
      'user',
      'untrusted',
      'untrusted',
      'untrusted',
    ]);
  });

  test('SK-12 a skill that shadows another inherits nothing: its name does not matter', () => {
    mkdirSync(join(home, 'project/skills/mine'));
    const paths = [join(home, 'skills/mine')];
    expect(trust('skills/mine', { own: [], paths })).toBe('user');
    expect(trust('project/skills/mine', { own: [], paths })).toBe('untrusted');
  });
});
