/** The MCP entrance: skills and files for any agent that speaks the protocol, over stdio or HTTP. */
export { tellChanges } from './changes.ts';
export { createHost, type Host, type HostOptions } from './host.ts';
export { type HttpServer, MCP_PATH, serveHttp } from './http.ts';
export { serveStandardStreams } from './stdio.ts';
