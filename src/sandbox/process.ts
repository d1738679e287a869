import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import { isAlive, ownerOfId, sameOwner } from './owner.ts';
import { prepareProcess } from './process-place.ts';
import { killRecorded } from './process-run.ts';
import { checkSpec, type Guarantee, type Handle, type Level, refuseMissing, type Sandbox } from './sandbox.ts';
import { makePrivate, removeTree } from './state.ts';

export type ProcessOptions = {
  stateDir: string;
  search: readonly string[];
  /** The operator's configuration and the caller's own words must both ask for it. */
  allowed: { byConfiguration: boolean; byCaller: boolean };
};

const HELD: [Guarantee, Level][] = [
  ['files', 'none'],
  ['network', 'none'],
  ['processes', 'none'],
  ['syscalls', 'none'],
  ['privileges', 'none'],
  ['identity', 'none'],
  ['environment', 'none'],
  ['tmpfs', 'none'],
  ['workspace', 'none'],
  ['time', 'polled'],
  ['cpu', 'none'],
  ['memory', 'none'],
  ['pids', 'none'],
  ['open-files', 'kernel-process'],
  ['file-size', 'kernel-process'],
  ['disk', 'polled'],
  ['output', 'kernel-tree'],
];

/**
 * No isolation: the program is a process of this account like any other. Paths inside are made up: a mount's place is
 * replaced by its host path wherever it stands in argv, cwd and environment.
 */
export function createProcess(options: ProcessOptions): Sandbox {
  const enforces = new Map<Guarantee, Level>();
  const live = new Map<string, Handle>();
  const runs = join(options.stateDir, 'processes');
  const { byConfiguration, byCaller } = options.allowed;
  const refusal = !byConfiguration
    ? 'the configuration does not allow it'
    : !byCaller
      ? 'the caller did not ask for it by name'
      : null;
  const known = async () => (await readdir(runs).catch(() => [])).flatMap(id => (ownerOfId(id) === null ? [] : [id]));

  return {
    name: 'process',
    enforces,
    problems() {
      return this.check();
    },
    async check() {
      if (refusal !== null)
        return [
          {
            what: `runs without isolation are refused: ${refusal}`,
            fix: 'Set SKILLBOX_ALLOW_UNISOLATED=yes, and give --sandbox process.',
            fatal: true,
          },
        ];
      for (const [guarantee, level] of HELD) enforces.set(guarantee, level);
      return [
        {
          what: 'there is no isolation: a skill can do whatever this account can',
          fix: 'apt-get install bubblewrap',
          fatal: false,
        },
      ];
    },
    async prepare(spec) {
      checkSpec(spec);
      if (refusal !== null)
        throw new SkillboxError('SANDBOX_UNAVAILABLE', `Runs without isolation are refused: ${refusal}.`);
      if (spec.runtime.kind === 'image')
        throw new SkillboxError('IMAGE_MISSING', 'A run without isolation cannot use an image.');
      const held = new Map(HELD);
      refuseMissing('process', held, spec.requires);
      await makePrivate(runs);
      const handle = await prepareProcess(spec, options, runs, held, id => live.delete(id));
      live.set(handle.id, handle);
      return handle;
    },
    standIn: async () => null,
    async list(owner) {
      return (await known()).flatMap(id => {
        const of = ownerOfId(id);
        const handle = live.get(id);
        return handle !== undefined && of !== null && sameOwner(of, owner) ? [handle] : [];
      });
    },
    async sweep() {
      const dead = (await known()).filter(id => {
        const owner = ownerOfId(id);
        return owner !== null && !isAlive(owner);
      });
      for (const id of dead) {
        await killRecorded(join(runs, id, 'leader'));
        await removeTree(join(runs, id));
      }
      return dead;
    },
    warm: async () => undefined,
    close: async () => undefined,
  };
}
