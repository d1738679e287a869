import { chmodSync, mkdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { CatalogEvent } from '../src/catalog/index.ts';
import { type DiscloseOptions, findLocalSkills, trustByFolder, watchLocalSkills } from '../src/disclose.ts';
import { openTrustStore } from '../src/policy/index.ts';
import { knownSkill, skillsIn } from './catalog/make.ts';
import { tempDirectory, writeFiles } from './temp.ts';

function newUser(): DiscloseOptions & { home: string; project: string } {
  const base = realpathSync(tempDirectory());
  const [home, project] = [join(base, 'home'), join(base, 'project')];
  mkdirSync(join(project, '.git'), { recursive: true });
  return {
    home,
    project,
    places: { cwd: project, home, named: [], configured: [], bundled: [] },
    dataDirectory: join(base, 'data'),
    version: 'test',
    policy: {
      userPolicy: join(base, 'policy.yaml'),
      directory: project,
      bundled: [],
      own: [join(home, '.claude/skills')],
    },
  };
}

const names = (skills: readonly { name: string }[]) => skills.map(({ name }) => name);

test('AS-09 a watched catalog hears of changes, and of trust and policy without any', async () => {
  const user = newUser();
  skillsIn({ mine: 'Mine.' }, join(user.home, '.claude/skills'));
  skillsIn({ theirs: 'Theirs.' }, join(user.project, 'skills'));
  const events: CatalogEvent[] = [];
  const index = watchLocalSkills(user, event => events.push(event));
  onTestFinished(() => index.close());
  expect(names(index.current().resolution.skills)).toEqual(['mine']);
  openTrustStore(user.dataDirectory).add('path', join(user.project, 'skills'));
  expect(names(index.current().resolution.skills)).toEqual(['theirs', 'mine']);
  rmSync(join(user.project, 'skills/theirs'), { recursive: true });
  for (let turn = 0; turn < 100 && events.length === 0; turn++) await sleep(20);
  expect(events).toMatchObject([{ type: 'catalog.changed', data: { removed: [{ name: 'theirs' }] } }]);
  const { resolution, hidden } = index.current();
  expect(resolution.skills.map(hidden)).toEqual([null]);
  writeFiles(join(user.home, '..'), { 'policy.yaml': 'this is no policy' });
  const denied = index.current();
  // A policy that cannot be used denies everything.
  expect(denied.resolution.skills.map(denied.hidden)).toEqual([expect.stringContaining('the policy denies it')]);
});

test('SK-12 a folder in a trusted directory that others can write to is not trusted', () => {
  const user = newUser();
  const place = skillsIn({ fine: 'Fine.', open: 'Open.' }, join(user.home, '.claude/skills'));
  chmodSync(join(place, 'open'), 0o777);
  const { resolution } = findLocalSkills(user);
  expect([names(resolution.skills), names(resolution.untrusted)]).toEqual([['fine'], ['open']]);
});

test('SK-12 a link in a project neither borrows the trust of a skill of the user nor takes it out of the catalog', () => {
  const user = newUser();
  const place = skillsIn({ git: 'Mine.' }, join(user.home, '.claude/skills'));
  mkdirSync(join(user.project, 'skills'));
  symlinkSync(join(place, 'git'), join(user.project, 'skills/git'));
  symlinkSync(place, join(user.project, '.skillbox'));
  const { resolution } = findLocalSkills(user);
  expect(resolution.skills).toMatchObject([{ name: 'git', location: join(place, 'git/SKILL.md'), trust: 'user' }]);
  expect(resolution.untrusted).toMatchObject([{ folder: join(user.project, 'skills/git'), trust: 'untrusted' }]);
  openTrustStore(user.dataDirectory).add('path', join(user.project, 'skills'));
  const { resolution: now } = findLocalSkills(user);
  expect(now.skills).toMatchObject([{ location: join(user.project, 'skills/git/SKILL.md'), trust: 'user' }]);
  expect(now.shadowed).toEqual([]);
});

test('a SKILL.md that everybody can write is not the user’s: no model is shown it, whatever the index says', () => {
  const user = newUser();
  const place = skillsIn({ git: 'Mine.', other: 'Mine too.' }, join(user.home, '.claude/skills'));
  expect(findLocalSkills(user).resolution.skills).toHaveLength(2);
  chmodSync(join(place, 'git/SKILL.md'), 0o666);
  const { resolution } = findLocalSkills(user);
  expect(resolution.skills.map(({ name }) => name)).toEqual(['other']);
});

test('one question about a directory answers for the skills in it, but for those that may differ', () => {
  const asked: string[] = [];
  const vouch = (path: string) => {
    asked.push(path);
    return path.startsWith('/good') ? ('user' as const) : ('untrusted' as const);
  };
  const trustOf = trustByFolder(vouch, ['/mixed/one']);
  const skill = (path: string, ours = true) => knownSkill('x', 'X.', { folder: path, realFolder: path, ours });
  const trusts = ['/good/a', '/good/b', '/bad/a', '/bad/b', '/mixed/one', '/mixed/two'].map(path =>
    trustOf(skill(path)),
  );
  expect(trusts).toEqual(['user', 'user', 'untrusted', 'untrusted', 'untrusted', 'untrusted']);
  expect(asked).toEqual(['/good', '/bad', '/mixed', '/mixed/one', '/mixed/two']);
  trustOf(skill('/good/c', false));
  expect(asked.at(-1)).toBe('/good/c');
});
