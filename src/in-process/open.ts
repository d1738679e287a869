import { availableParallelism } from 'node:os';
import { type Callers, type Identity, type OidcSettings, openCallers } from '../callers/index.ts';
import {
  type ExecutionSettings,
  Executions,
  type RetentionSettings,
  type Swept,
  sweepOld,
} from '../executions/index.ts';
import type { Parts } from '../parts.ts';
import { REGISTRY_LIMITS, type RegistryLimits } from '../registry/index.ts';
import { tenantShortfall } from '../runs/index.ts';
import type { Quotas, Service } from '../service/index.ts';
import type { ServiceParts } from './parts.ts';
import { Room } from './room.ts';
import { createService } from './service.ts';
import { PublishedSkills } from './skills.ts';

export type InProcessOptions = {
  parts: Parts;
  /** What a tenant gets where nothing else is said. */
  quotas: Quotas;
  oidc: OidcSettings | null;
  executions: ExecutionSettings;
  /** What is kept how long, and how often it is looked for. */
  retention: RetentionSettings & { everyMs: number };
  registryLimits: RegistryLimits;
  /** Told of what went wrong without anybody being refused for it. */
  warn: (message: string, error: unknown) => void;
};

export const DEFAULT_QUOTAS: Quotas = {
  running: 16,
  queued: 1000,
  storageBytes: 10 * 1024 ** 3,
  requestsPerMinute: 6000,
};

export const DEFAULT_EXECUTIONS: ExecutionSettings = {
  slots: Math.max(2, 2 * availableParallelism()),
  queueLimit: 10_000,
  attempts: 3,
  heartbeatMs: 5_000,
  deadAfterMs: 30_000,
  pollMs: 500,
  keyMs: 86_400_000,
};

const DAY_MS = 86_400_000;

export const DEFAULT_RETENTION: InProcessOptions['retention'] = {
  runsMs: 90 * DAY_MS,
  logsMs: 30 * DAY_MS,
  artifactsMs: 30 * DAY_MS,
  snapshotsMs: 30 * DAY_MS,
  layersMs: 30 * DAY_MS,
  everyMs: 3_600_000,
};

export const IN_PROCESS_DEFAULTS: Omit<InProcessOptions, 'parts' | 'warn'> = {
  quotas: DEFAULT_QUOTAS,
  oidc: null,
  executions: DEFAULT_EXECUTIONS,
  retention: DEFAULT_RETENTION,
  registryLimits: REGISTRY_LIMITS,
};

/** The services of this process, over one data directory. */
export interface InProcess {
  readonly callers: Callers;
  readonly executions: Executions;
  /** Why the runs of tenants would all be refused on this machine; null when they would not. */
  readonly shortfall: string | null;
  serviceFor(identity: Identity): Service;
  /** Removes what need not be kept any longer; it is done from time to time anyway. */
  sweepOld(): Promise<Swept>;
  /** Takes nothing more, and waits for what is on the way; what is left at the deadline is interrupted. */
  drain(deadlineMs: number): Promise<void>;
  close(): Promise<void>;
}

/** How long what a tenant keeps is not counted anew: counting reads all of it. */
const COUNTED_MS = 5_000;

/** Opens the sandbox, settles what dead processes left, and begins to work off the line. */
export async function openInProcess(options: InProcessOptions): Promise<InProcess> {
  const { parts, quotas: defaults, warn } = options;
  const { store } = parts;
  const usageOf = async (tenant: string) => {
    const [runs, skills] = await Promise.all([store.queue.usage(tenant), store.skills.usage(tenant)]);
    return { ...runs, storageBytes: runs.storageBytes + skills.bytes };
  };
  const callers = openCallers({
    keys: store.keys,
    tenants: store.tenants,
    defaults,
    usageOf,
    oidc: options.oidc,
    warn,
  });
  const published = new PublishedSkills(parts);
  const machine = await parts.ready();
  await parts.swept(options.executions);
  const executions = new Executions({
    machine,
    settings: options.executions,
    defaults,
    quotasOf: tenant => (tenant === null ? Promise.resolve(defaults) : callers.quotas(tenant)),
    fetchSkill: record => published.fetch(record),
    onFault: (error, about) => warn(about, error),
  });
  const room = new Room({
    mostOf: async tenant => (await callers.quotas(tenant)).storageBytes,
    usedBy: async tenant => (await usageOf(tenant)).storageBytes,
  });
  const service: ServiceParts = {
    parts,
    machine,
    executions,
    callers,
    published,
    registry: {
      limits: options.registryLimits,
      hold: async ({ tenant }, bytes) => (tenant === null ? () => undefined : room.hold(tenant, bytes, 0)),
    },
    hold: (tenant, bytes) => room.hold(tenant, bytes, COUNTED_MS),
  };
  await executions.start();
  const tidy = repeat(
    () => sweepOld(machine, options.retention, Date.now()),
    options.retention.everyMs,
    error => options.warn('what is old cannot be removed', error),
  );
  return {
    callers,
    executions,
    shortfall: tenantShortfall(machine),
    serviceFor: identity => createService(service, identity),
    sweepOld: () => tidy.now(),
    async drain(deadlineMs) {
      await tidy.stop();
      await executions.drain(deadlineMs);
    },
    async close() {
      await tidy.stop();
      await executions.drain(0);
      await parts.close();
    },
  };
}

/** Work that is done again and again, never twice at once. */
function repeat<T>(work: () => Promise<T>, everyMs: number, onFault: (error: unknown) => void) {
  let going: Promise<T> | null = null;
  const now = (): Promise<T> => {
    going ??= work().finally(() => {
      going = null;
    });
    return going;
  };
  const timer = setInterval(() => void now().catch(onFault), everyMs).unref();
  const stop = async (): Promise<void> => {
    clearInterval(timer);
    await going?.catch(() => undefined);
  };
  return { now, stop };
}
