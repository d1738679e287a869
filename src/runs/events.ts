import { createHash } from 'node:crypto';
import { type Actor, type AuditEvent, type Caller, canonicalJson, type EventType, redactArgv } from '../audit/index.ts';
import type { JsonObject } from '../base/index.ts';
import type { Limits, Sandbox, SandboxMount } from '../sandbox/index.ts';
import type { RunRecord } from '../store/index.ts';
import { networkOf } from './network.ts';
import type { Planned } from './plan.ts';

/** How many artifacts an entry names; all of them are under its digest. */
const MAX_NAMED = 100;

/** Whoever started this process. */
export function localActor(): Actor {
  return { id: `uid:${process.getuid?.() ?? 'none'}`, channel: 'local' };
}

/** The one who needs no tenant: the user of this machine. */
export function localCaller(): Caller {
  return { tenant: null, actor: localActor() };
}

/** Before its first process: what will run, with what around it. Values of the environment and the input stay out. */
export function acceptedEvent(record: RunRecord, planned: Planned, sandbox: Sandbox): AuditEvent {
  const { spec, image, layers } = planned;
  return about(record.by, 'run.accepted', record, {
    skill: record.skill,
    target: record.target,
    argv: redactArgv(spec.argv),
    env: Object.keys(spec.env).sort(),
    mounts: spec.mounts.map(mount => describeMount(mount, record.tenant)),
    limits: describeLimits(spec.limits),
    network: { ...networkOf(planned) },
    image,
    layers: layers.map(({ manager, key }) => ({ manager, key })),
    requires: Object.fromEntries(spec.requires),
    driver: sandbox.name,
  });
}

export function queuedEvent(record: RunRecord): AuditEvent {
  return about(record.by, 'run.queued', record, { skill: record.skill, target: record.target });
}

export function requeuedEvent(record: RunRecord): AuditEvent {
  return about(localActor(), 'run.requeued', record, { owner: ownerIn(record), attempt: record.attempt });
}

export function startedEvent(record: RunRecord, sandbox: Sandbox): AuditEvent {
  const data = { driver: sandbox.name, enforces: Object.fromEntries(sandbox.enforces) };
  return about(record.by, 'run.started', record, data);
}

/** `actor`: who ended it, where that is not who asked for it. */
export function endedEvent(record: RunRecord, actor: Actor = record.by): AuditEvent {
  const { state, ending, exitCode, error, sandbox, artifacts, archive, usage, logBytes } = record;
  return about(actor, 'run.ended', record, {
    state,
    ending,
    exitCode,
    error: error?.code ?? null,
    driver: sandbox?.driver ?? null,
    held: sandbox?.enforces ?? null,
    artifacts: artifacts.slice(0, MAX_NAMED),
    artifactCount: artifacts.length,
    artifactsSha256:
      artifacts.length === 0 ? null : createHash('sha256').update(canonicalJson(artifacts)).digest('hex'),
    archive: archive?.sha256 ?? null,
    usage: usage === null ? null : { cpuMs: Math.round(usage.cpuMs), maxMemoryBytes: Math.round(usage.maxMemoryBytes) },
    logBytes,
  });
}

/** The process that ran it died: told by whoever finds it, before the record says so. */
export function interruptedEvent(record: RunRecord, before: RunRecord['state']): AuditEvent {
  return about(localActor(), 'run.interrupted', record, { state: before, owner: ownerIn(record) });
}

/** Which process it was is the operator's to know: a tenant reads its own journal. */
function ownerIn({ tenant, owner }: RunRecord): string | null {
  return tenant === null ? owner : null;
}

export function canceledEvent(actor: Actor, record: RunRecord): AuditEvent {
  return about(actor, 'run.canceled', record, { state: record.state });
}

function about(actor: Actor, type: EventType, { id, tenant }: RunRecord, data: JsonObject): AuditEvent {
  return { type, actor, tenant, subject: id, data };
}

/** Threat: a tenant reads its chain, and where a server keeps its files is not for tenants. Nothing else is mounted for them. */
function describeMount(mount: SandboxMount, tenant: string | null): JsonObject {
  const { kind, at } = mount;
  if (mount.kind !== 'bind') return { kind, at };
  return { kind, at, source: tenant === null ? mount.source : null, writable: mount.writable };
}

/** Whole numbers only: a journal that every language can check has no fractions. */
function describeLimits({ cpus, ...limits }: Limits): JsonObject {
  const whole = Object.entries(limits).map(([name, value]) => [name, Math.round(value)]);
  return { ...Object.fromEntries(whole), milliCpus: Math.round(cpus * 1000) };
}
