import { SkillboxError } from '../../base/index.ts';
import { addComponents } from '../components.ts';
import { documentPages, documentRoutes } from '../document.ts';
import { EventStreams, STREAM_LIMITS, type StreamLimits } from '../events.ts';
import type { ApiServer } from '../server.ts';
import { artifactRoutes } from './artifacts.ts';
import { ROUTE_LIMITS, type RouteContext, type RouteLimits } from './context.ts';
import { executionLogRoutes } from './execution-logs.ts';
import { executionRoutes } from './executions.ts';
import { approvalRoutes, guardRoutes } from './guards.ts';
import { blobRoutes, indexRoute, type SignedBlobs, type SkillIndex } from './links.ts';
import { callerRoutes, keyRoutes } from './people.ts';
import { skillContentRoutes } from './skill-content.ts';
import { skillRoutes } from './skills.ts';

export type RouteOptions = {
  version: string;
  /** How the world reaches this server, without a slash at its end; null: as each request did. */
  publicUrl: string | null;
  limits?: Partial<RouteLimits & StreamLimits>;
  /** null: blobs are kept elsewhere, and links to them are signed there. */
  blobs: SignedBlobs | null;
  index: SkillIndex;
};

/** Everything under /v1, the index for installers, their document, and the page of it. */
export function apiRoutes(options: RouteOptions): (server: ApiServer) => Promise<void> {
  return async server => {
    const streams = new EventStreams({ ...STREAM_LIMITS, ...options.limits });
    const limits = { ...ROUTE_LIMITS, ...options.limits };
    const context: RouteContext = { publicUrl: options.publicUrl, streams, limits };
    server.addHook('preClose', async () => streams.close());
    checkTenantHeader(server);
    await documentRoutes(server, options.version);
    addComponents(server);
    executionRoutes(server, context);
    executionLogRoutes(server, context);
    artifactRoutes(server, context);
    skillRoutes(server, context);
    skillContentRoutes(server);
    approvalRoutes(server);
    guardRoutes(server);
    callerRoutes(server);
    keyRoutes(server);
    if (options.blobs !== null) blobRoutes(server, options.blobs);
    indexRoute(server, context, options.index);
    documentPages(server);
  };
}

/** The published clients can name a tenant. A key has one already; another name is a mistake that must not go unseen. */
function checkTenantHeader(server: ApiServer): void {
  server.addHook('onRequest', async request => {
    const named = request.headers['x-tenant-id'];
    if (named === undefined || request.identity === null || named === request.identity.tenant) return;
    throw new SkillboxError('FORBIDDEN', 'X-Tenant-ID is not the tenant of this key', {
      hint: 'Leave the header out, or use a key of that tenant.',
    });
  });
}
