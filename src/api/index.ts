/** The REST API: one caller's `Service` behind routes, and the server that they are reached by. */
export type { ErrorAnswer } from './answers.ts';
export type { ApiCaller, RouteScope } from './caller.ts';
export type { ReadyCheck } from './health.ts';
export type { HostRules } from './hosts.ts';
export { DEFAULT_LIMITS, type ServerLimits } from './limits.ts';
export { type Listening, listen } from './listen.ts';
export { createLog, type LogLevel } from './log.ts';
export type { Gauge } from './metrics.ts';
export type { RateSettings } from './rates.ts';
export type { RouteLimits } from './routes/context.ts';
export { apiRoutes, type RouteOptions } from './routes/index.ts';
export type { SignedBlobs, SkillIndex } from './routes/links.ts';
export { MCP_SCOPES, type McpEndpoint, type McpVisit, mcpRoutes } from './routes/mcp.ts';
export type { SignIn } from './routes/sign-in.ts';
export { type ApiServer, createServer, type OperationsOptions, type ServerOptions } from './server.ts';
