import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type JsonObject, SkillboxError } from '../base/index.ts';
import { digestFolder, type Folder, openDirectory } from '../skill/index.ts';
import { backupOf, type ConfigChange, readConfig } from './configs.ts';
import { linkTarget } from './disk.ts';
import { type LockedSkill, readLock, renderLock } from './lock-file.ts';
import type { Plan, Write } from './plan.ts';
import { type Change, change } from './transaction.ts';

/** What the journal is to hear of; who caused it, the caller knows. */
export type InstallEvent = { type: 'skill.installed' | 'skill.removed'; subject: string; data: JsonObject };

/** Writes what was planned, all of it or nothing. `before` hears of it when all is ready and nothing is done yet. */
export async function applyPlan(plan: Plan, before: (events: InstallEvent[]) => Promise<void>): Promise<void> {
  if (plan.writes.length === 0) return;
  const { scope } = plan;
  await change(
    scope,
    async staging => {
      if (renderLock(readLock(scope.lockPath)) !== plan.lockBefore) {
        throw new SkillboxError('INSTALL_BUSY', `${scope.lockPath} was changed meanwhile`, { hint: 'Try again.' });
      }
      const changes: Change[] = [];
      for (const [index, write] of plan.writes.entries()) {
        const staged = write.what === 'gone' ? null : `new-${index}`;
        const config = plan.configs.find(({ path }) => path === write.path);
        if (config !== undefined) checkUnchanged(config);
        if (staged !== null) await stage(plan, write, join(staging, staged));
        changes.push({ path: write.path, staged });
      }
      return changes;
    },
    () => before(eventsOf(plan)),
  );
}

async function stage(plan: Plan, { what, name, path }: Write, at: string): Promise<void> {
  if (what === 'lock') return writeFileSync(at, renderLock(plan.lock), { flag: 'wx' });
  if (what === 'config' || what === 'backup') return stageConfig(plan, path, what, at);
  if (what === 'link') return symlinkSync(linkTarget(plan.scope, path, name), at);
  const skill = plan.skills.find(({ locked }) => locked.name === name);
  if (skill === undefined) throw new SkillboxError('INTERNAL', `nothing is known of ${name}`);
  await copyFolder(skill.content, at);
  const copy = openDirectory(at);
  try {
    const digest = await digestFolder(copy);
    // What was shown is what is installed, or nothing is.
    if (digest === skill.locked.digest && copy.problems.length === 0) return;
    throw new SkillboxError('SKILL_CHANGED', `${name} changed while it was installed`);
  } finally {
    copy.close();
  }
}

/** What was shown is what is changed, or nothing is. */
function checkUnchanged({ path, before }: ConfigChange): void {
  if (readConfig(path).text === before) return;
  throw new SkillboxError('INSTALL_BUSY', `${path} was changed meanwhile`, { hint: 'Try again.' });
}

function stageConfig({ configs, scope }: Plan, path: string, what: 'config' | 'backup', at: string): void {
  const change = configs.find(one => path === (what === 'config' ? one.path : backupOf(one.path)));
  if (change === undefined) throw new SkillboxError('INTERNAL', `nothing is known of ${path}`);
  checkUnchanged(change);
  const now = readConfig(change.path);
  writeFileSync(at, (what === 'config' ? change.after : change.before) ?? '', { flag: 'wx', mode: 0o600 });
  // Such files hold tokens: whoever could not read it before cannot afterwards.
  chmodSync(at, now.text === null && scope.kind === 'project' ? 0o644 : now.mode);
}

/** The files of the skill and nothing else: what was left out of it is not there. */
async function copyFolder(content: Folder, at: string): Promise<void> {
  mkdirSync(at);
  for (const { path, executable } of content.files) {
    const full = join(at, path);
    mkdirSync(dirname(full), { recursive: true });
    await writeFile(full, content.stream(path), { flag: 'wx' });
    chmodSync(full, executable ? 0o755 : 0o644);
  }
}

function eventsOf({ scope, skills, removed, writes, configs }: Plan): InstallEvent[] {
  const others = new Set(configs.flatMap(({ path }) => [path, backupOf(path)]));
  const touched = new Set(writes.filter(({ path }) => !others.has(path)).map(({ name }) => name));
  const entry = (skill: LockedSkill) => renderLock(new Map([[skill.name, skill]]));
  const installed = skills.filter(
    ({ locked, before }) => touched.has(locked.name) || before === null || entry(before) !== entry(locked),
  );
  return [
    ...installed.map(
      ({ locked, before }): InstallEvent => ({
        type: 'skill.installed',
        subject: locked.name,
        data: {
          digest: locked.digest,
          before: before?.digest ?? null,
          version: locked.version,
          source: { ...locked.source },
          folder: join(scope.store, locked.name),
          agents: locked.agents,
        },
      }),
    ),
    ...removed.map(
      ({ name, digest }): InstallEvent => ({
        type: 'skill.removed',
        subject: name,
        data: { digest, folder: join(scope.store, name) },
      }),
    ),
  ];
}
