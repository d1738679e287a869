/** The MCP entrance: skills and files for any agent that speaks the protocol, over stdio or HTTP. */
export { callerOf, localCaller, type McpCaller } from './caller.ts';
export { tellChanges } from './changes.ts';
export { createHost, type Host, type HostOptions } from './host.ts';
export { createEndpoint, type Endpoint, MCP_PATH, type Room, type Visit } from './http.ts';
export { createLocalEndpoint, createTenantEndpoint, type LocalVisit, type TenantVisit } from './rooms.ts';
export { SESSION_LIMITS, type SessionLimits } from './sessions.ts';
export { serveStandardStreams } from './stdio.ts';
