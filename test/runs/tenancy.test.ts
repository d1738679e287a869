import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readSkill } from '../../src/dialects/index.ts';
import type { LayerRequest } from '../../src/layers/index.ts';
import { openParts } from '../../src/parts.ts';
import { openKept, planRun, type RunRequest, runnerFor, submitRun, takeSnapshot } from '../../src/runs/index.ts';
import { openFolder } from '../../src/skill/index.ts';
import { TESTER } from '../support/events.ts';
import { NO_SANDBOX, newSkill, optionsOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

const MANY = { running: 9, queued: 9 };
const TICKET = { key: null, hasRoom: true, quotas: MANY, defaults: MANY, queueLimit: 9 };

async function open() {
  const parts = openParts(optionsOf(tempDir('tenancy')));
  onTestFinished(() => parts.close());
  return { parts, machine: await parts.ready() };
}

async function requestOf(path: string): Promise<RunRequest> {
  const folder = await openFolder(path);
  onTestFinished(() => folder.close());
  const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
  if (skill === null) throw new Error('the skill cannot be read');
  const call = { target: { kind: 'main' as const }, input: {}, stdin: null, mode: 'Global' as const, callerEnv: {} };
  return { skill, folder, call, env: {}, workspace: null, timeoutMs: null };
}

describe.skipIf(NO_SANDBOX)('a run belongs to a tenant', () => {
  test('in what is held ready for it, in its layers, and in what its sandbox must hold', async () => {
    const { machine } = await open();
    const path = newSkill('python', 'print(1)\n');
    writeFiles(path, { 'requirements.txt': 'example==1.0.0\n' });
    const request = await requestOf(path);
    const asked: LayerRequest[] = [];
    const layers = {
      ...machine.layers,
      find: async (wanted: LayerRequest) => {
        asked.push(wanted);
        return null;
      },
    };
    const plan = (tenant: string | null) =>
      planRun(runnerFor({ ...machine, layers }, { tenant, actor: TESTER }), request, null);
    const plans = [await plan('a'), await plan('b'), await plan('local'), await plan(null)];
    expect(plans.map(({ spec }) => spec.tenant)).toEqual(['a', 'b', 'local', null]);
    // Nobody's name is what the machine's own user is called there.
    expect(new Set(asked.map(({ tenant }) => tenant)).size).toBe(4);
    const levels = plans.map(({ spec }) => ['memory', 'pids', 'cpu'].map(name => spec.requires.get(name as 'cpu')));
    expect(levels[0]).toEqual(['kernel-tree', 'kernel-tree', 'kernel-tree']);
    expect(levels[3]).toEqual(['kernel-process', 'kernel-process', undefined]);
  });

  test('a caller of a server can only shorten the time that a skill takes', async () => {
    const { machine } = await open();
    const request = await requestOf(newSkill('bash', 'echo done\n', 'timeout: 30s\n'));
    const timeOf = async (tenant: string | null, timeoutMs: number | null) =>
      (await planRun(runnerFor(machine, { tenant, actor: TESTER }), { ...request, timeoutMs }, null)).spec.limits
        .timeMs;
    expect(await timeOf('a', 5_000)).toBe(5_000);
    expect(await timeOf('a', 600_000)).toBe(await timeOf('a', null));
    expect(await timeOf(null, 600_000)).toBe(600_000);
  });

  test('every entry of its life is in the chain of its tenant, and says who asked', async () => {
    const { parts, machine } = await open();
    const caller = { tenant: 'a', actor: { id: 'key-7', channel: 'key' } };
    const request = await requestOf(newSkill('bash', 'echo done\n'));
    // As the registry gives it.
    const origin = { kind: 'registry', path: 'registry:probe', publisher: 'key-1' } as const;
    const snapshots = join(machine.dataDirectory, 'snapshots');
    const { digest } = await takeSnapshot(request.folder, snapshots, machine.writer);
    const folder = openKept(snapshots, digest, { name: 'probe', origin });
    onTestFinished(() => folder.close());
    const submitted = await submitRun(runnerFor(machine, caller), { ...request, folder }, TICKET);
    if (submitted.kind !== 'begun') throw new Error(`it is ${JSON.stringify(submitted)}`);
    expect(submitted.record).toMatchObject({ tenant: 'a', by: caller.actor, attempt: 1, state: 'preparing' });
    await submitted.carryOn({
      onState: () => undefined,
      onChunk: () => undefined,
      onBuild: () => undefined,
      signal: null,
    });
    const filter = { types: null, subject: null, sinceMs: null, untilMs: null, tenants: null, beforeSeq: null };
    const { entries } = await parts.store.journal.list(filter, 100);
    const own = entries.filter(({ subject }) => subject === submitted.record.id);
    expect(own.map(({ type }) => type)).toEqual(['decision.made', 'run.accepted', 'run.started', 'run.ended']);
    expect(own.every(({ tenant, actor }) => tenant === 'a' && actor.id === 'key-7')).toBe(true);
  });
});
