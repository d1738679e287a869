/** The REST API: one caller's `Service` behind routes, and the server that they are reached by. */
export type { ErrorAnswer } from './answers.ts';
export type { ApiCaller, RouteScope } from './caller.ts';
export { DEFAULT_LIMITS, type ServerLimits } from './limits.ts';
export type { RouteLimits } from './routes/context.ts';
export { apiRoutes, type RouteOptions } from './routes/index.ts';
export { type ApiServer, createServer, type ServerOptions } from './server.ts';
