import { join } from 'node:path';
import {
  apiRoutes,
  createLog,
  MCP_SCOPES,
  mcpRoutes,
  type RouteOptions,
  type ServerOptions,
  type SignedBlobs,
  type SignIn,
} from './api/index.ts';
import { SkillboxError } from './base/index.ts';
import type { Callers } from './callers/index.ts';
import type { Config } from './config/index.ts';
import { DEFAULT_EXECUTIONS, type InProcess, openInProcess } from './in-process/index.ts';
import { type Place, skillboxOptions } from './local.ts';
import { openParts, openStoreOf, type Parts } from './parts.ts';
import { oidcOf, quotasOf, wordsFor } from './people.ts';
import { REGISTRY_LIMITS, wellKnownIndex } from './registry/index.ts';
import { localActor } from './runs/index.ts';
import { type Serving, startServing } from './serving.ts';
import { openSignedLinks, type SignedLinks, type Store } from './store/index.ts';
import { storeChoice } from './stores.ts';

export type OpenServerOptions = {
  config: Config;
  place: Place;
  version: string;
  /** Takes the lines of the log. */
  write(line: string): void;
};

/** A server that answers. Drain it, then close it. */
export type Server = Pick<Serving, 'url' | 'drain'> & {
  /** The text of the first key; null when there are keys already. */
  makeFirstKey(): Promise<string | null>;
  /** Why every run would be refused on this machine; null when they would not. */
  shortfall: string | null;
  close(): Promise<void>;
};

/** The whole of it on what the configuration names: store, sandbox, runs, service, HTTP. */
export async function openServer(options: OpenServerOptions): Promise<Server> {
  const { config, place, version } = options;
  const log = createLog(config.get('server.logLevel'), { write: line => options.write(line) });
  // A path alone: whoever asks for a link is told it below the address that they came by.
  const links = openSignedLinks(join(config.get('data.directory'), 'links.key'), () => '');
  const local = { ...skillboxOptions(place, null, config), store: storeChoice(config, links.sign) };
  const store = await openStoreOf(local);
  const parts = openParts(local, undefined, store);
  const backend = await openBackend(parts, config, log);
  try {
    const { callers } = backend;
    const mcp = config.get('server.mcp') ? await openMcp(config, version, callers) : null;
    const serving = await startServing({
      config,
      callers,
      log,
      routes: [apiRoutes(routeOptions(config, version, openLink(store, links))), ...(mcp === null ? [] : [mcp])],
      backend: {
        serviceFor: caller => backend.serviceFor(caller),
        checks: checksOf(store),
        gauges: gaugesOf(backend, store),
        drain: deadlineMs => backend.drain(deadlineMs),
      },
    });
    return {
      url: serving.url,
      drain: () => serving.drain(),
      shortfall: backend.shortfall,
      makeFirstKey: () => callers.makeFirstKey(localActor()),
      async close() {
        await serving.server.close();
        await backend.close();
      },
    };
  } catch (error) {
    await backend.close();
    throw error;
  }
}

/** The protocol's library is loaded only where it is spoken. */
async function openMcp(config: Config, version: string, callers: Callers): Promise<ServerOptions['routes'][number]> {
  const { createTenantEndpoint } = await import('./mcp/index.ts');
  return server => {
    const waitMs = config.get('runs.waitLimit');
    const endpoint = createTenantEndpoint({ version, waitMs, isStopping: () => server.draining });
    const forget = callers.onChange(() => void endpoint.recheck());
    return mcpRoutes(
      {
        serve: ({ caller, service, confirm, onFault }, request, response, body) => {
          const { tenant, id, scopes } = caller;
          return endpoint.serve({ tenant, id, scopes, service: service(), confirm, onFault }, request, response, body);
        },
        endStreams: () => endpoint.endStreams(),
        async close() {
          forget();
          await endpoint.close();
        },
      },
      signInOf(config),
    )(server);
  };
}

async function openBackend(parts: Parts, config: Config, log: NonNullable<ServerOptions['log']>): Promise<InProcess> {
  try {
    return await openInProcess({
      parts,
      quotas: quotasOf(config),
      oidc: oidcOf(config),
      executions: {
        slots: config.get('runs.slots') ?? DEFAULT_EXECUTIONS.slots,
        queueLimit: config.get('runs.queueLimit'),
        attempts: config.get('runs.attempts'),
        heartbeatMs: config.get('runs.heartbeat'),
        deadAfterMs: config.get('runs.deadAfter'),
        pollMs: config.get('runs.poll'),
        keyMs: config.get('retention.idempotencyKeys'),
      },
      retention: {
        runsMs: config.get('retention.runs'),
        logsMs: config.get('retention.logs'),
        artifactsMs: config.get('retention.artifacts'),
        snapshotsMs: config.get('retention.snapshots'),
        layersMs: config.get('retention.layers'),
        everyMs: config.get('retention.interval'),
      },
      registryLimits: { ...REGISTRY_LIMITS, maxArchiveBytes: config.get('server.uploadLimit') },
      warn: (message, error) => log.warn({ err: error }, message),
    });
  } catch (error) {
    await parts.close();
    throw error;
  }
}

function routeOptions(config: Config, version: string, blobs: SignedBlobs): RouteOptions {
  return {
    version,
    publicUrl: publicUrlOf(config),
    // With a bucket the links are its own.
    blobs: config.get('store.s3.bucket') === null ? blobs : null,
    index: wellKnownIndex,
    limits: {
      syncWaitMs: config.get('runs.waitLimit'),
      urlSeconds: Math.floor(config.get('server.linkLifetime') / 1000),
      maxUploadBytes: config.get('server.uploadLimit'),
      maxStreams: config.get('server.followers'),
    },
  };
}

function publicUrlOf(config: Config): string | null {
  return config.get('server.publicUrl')?.replace(/\/+$/, '') ?? null;
}

/** null: there is no issuer, so nobody gets a token for this server. */
function signInOf(config: Config): SignIn | null {
  const oidc = oidcOf(config);
  if (oidc === null) return null;
  return { issuer: oidc.issuer, scopes: wordsFor(oidc, MCP_SCOPES), publicUrl: publicUrlOf(config) };
}

function openLink(store: Store, links: SignedLinks): SignedBlobs {
  return async (sha256, query) => {
    const { filename, contentType, tenant } = links.verify(sha256, query);
    await requireEnabled(store, tenant);
    const bytes = await store.blobs.size(sha256);
    const content = bytes === null ? null : await store.blobs.read(sha256);
    if (bytes === null || content === null)
      throw new SkillboxError('NOT_FOUND', 'what the link stands for is not kept any more');
    return { filename, contentType, bytes, content };
  };
}

/** What a tenant gave away ends when it is stopped, as everything else of it. */
async function requireEnabled({ tenants }: Store, name: string): Promise<void> {
  const tenant = await tenants.get(name);
  if (tenant === null || tenant.disabledAt !== null)
    throw new SkillboxError('LINK_REFUSED', 'whoever gave this link has no access any more');
}

function checksOf(store: Store) {
  return [
    { name: 'database', check: () => store.check() },
    { name: 'blobs', check: () => store.blobs.check() },
  ];
}

function gaugesOf({ executions }: InProcess, store: Store) {
  const all = () => store.queue.lengthOfAllTenants();
  return [
    { name: 'skillbox_runs_queued', help: 'Runs of all tenants in line.', read: async () => (await all()).queued },
    { name: 'skillbox_runs_running', help: 'Runs of all tenants on the way.', read: async () => (await all()).running },
    { name: 'skillbox_slots', help: 'Runs that this process takes at once.', read: () => executions.status.slots },
    { name: 'skillbox_slots_busy', help: 'Of these, how many are taken.', read: () => executions.status.busy },
  ];
}
