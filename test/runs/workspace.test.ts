import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { checkWorkspace, type OffLimits } from '../../src/runs/index.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

describe('what no workspace may be (GB-11, WS-09)', () => {
  let base: string;
  let offLimits: OffLimits;
  beforeEach(() => {
    base = realpathSync(tempDir('workspace'));
    for (const path of ['data', 'project/.git/hooks', 'dotfiles/skillbox', 'config', 'keys'])
      mkdirSync(join(base, path), { recursive: true });
    offLimits = {
      data: join(base, 'data'),
      deciding: [join(base, 'config/skillbox/policy.yaml'), join(base, 'keys/master')],
    };
  });
  const why = (path: string) => {
    try {
      return checkWorkspace(path, offLimits);
    } catch (error) {
      if (error instanceof SkillboxError) return error.message.replace(path, '…');
      throw error;
    }
  };

  it('takes any other directory, by its real path', () => {
    symlinkSync('project', join(base, 'link'));
    expect(why(join(base, 'link'))).toBe(join(base, 'project'));
    expect(why(join(base, 'dotfiles'))).toBe(join(base, 'dotfiles'));
  });

  it.each([
    ['data', 'the workspace … holds the data of Skillbox, or lies in it'],
    ['project/.git', 'the workspace … lies in a git directory'],
    ['project/.git/hooks', 'the workspace … lies in a git directory'],
    // Where no policy is yet a run could make one.
    ['config', 'the workspace … holds the settings of Skillbox, or its policy or keys'],
    ['keys', 'the workspace … holds the settings of Skillbox, or its policy or keys'],
    ['none', 'there is no workspace …'],
  ])('%s', (path, message) => expect(why(join(base, path))).toBe(message));

  it('a policy that is a link is guarded where it really lies, too', () => {
    writeFileSync(join(base, 'dotfiles/skillbox/policy.yaml'), '');
    symlinkSync('../dotfiles/skillbox', join(base, 'config/skillbox'));
    expect(why(join(base, 'dotfiles'))).toMatch(/holds the settings/);
    expect(why(join(base, 'dotfiles/skillbox'))).toMatch(/holds the settings/);
    expect(why(join(base, 'config'))).toMatch(/holds the settings/);
  });

  it.each([
    '/dev',
    '/etc',
    '/etc/ssl',
    '/proc',
    '/proc/self/cwd/..',
    '/usr',
    '/usr/bin',
    '/usr/local',
    '/sys',
    '/var/lib',
    '/bin',
  ])('%s is the system’s', path => expect(why(path)).toMatch(/is part of the system|holds your home/));
});
