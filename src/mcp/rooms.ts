import {
  createServiceLibrary,
  createServiceShelf,
  type LocalDesk,
  type ServiceShelf,
  type ToolScope,
} from '../agent/index.ts';
import type { Service } from '../service/index.ts';
import { callerOf } from './caller.ts';
import { createHost, type Host } from './host.ts';
import { createEndpoint, type Endpoint, type Room, type Visit } from './http.ts';
import type { SessionLimits } from './sessions.ts';

/** A caller of a server. */
export type TenantVisit = Visit & {
  scopes: readonly string[];
  service: Service;
  /** Told of what the caller is not told. */
  onFault: (error: unknown) => void;
};

export type TenantEndpointOptions = {
  version: string;
  /** How long a run is waited for. */
  waitMs: number;
  isStopping: () => boolean;
  sessions?: SessionLimits;
};

/** As many as the requests of a tenant that are on the way: the runs themselves have quotas. */
const MAX_CALLS = 1024;

/** MCP for the tenants of a server: each sees its own published skills, and nothing of the machine. */
export function createTenantEndpoint(options: TenantEndpointOptions): Endpoint<TenantVisit> {
  const { version, waitMs, isStopping, sessions } = options;
  return createEndpoint<TenantVisit, Room & { shelf: ServiceShelf }>({
    makeRoom() {
      const shelf = createServiceShelf();
      const desk = { shelf, own: null, workspaceNames: false };
      const host = createHost({ desk, version, workspace: null, callerOf, maxCalls: MAX_CALLS });
      return { shelf, host, current: isWatched => (isWatched ? shelf.peek() : null) };
    },
    callerIn({ shelf }, { service, scopes, onFault }) {
      shelf.use(service);
      const library = createServiceLibrary({ service, shelf, waitMs, isStopping, onFault });
      return { library, scopes: toToolScopes(scopes), key: null };
    },
    ...(sessions === undefined ? {} : { sessions }),
  });
}

/** A caller of this machine: its user, or a key that they named. */
export type LocalVisit = Visit & { scopes: readonly string[]; key: string | null };

/** MCP for the user of this machine, whoever of theirs calls. `host` has the desk; `current` is what it offers. */
export function createLocalEndpoint(host: Host, desk: LocalDesk, current: () => unknown): Endpoint<LocalVisit> {
  return createEndpoint<LocalVisit, Room>({
    makeRoom: () => ({ host, current }),
    callerIn: (_room, { scopes, key }) => ({ library: desk.library, scopes: toToolScopes(scopes), key }),
  });
}

function toToolScopes(scopes: readonly string[]): ToolScope[] {
  return (['read', 'run'] as const).filter(scope => scopes.includes(scope));
}
