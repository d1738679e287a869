/** What one connection and one request may take of the server. */
export type ServerLimits = {
  /** Of a JSON body; a route that takes archives names its own. */
  maxBodyBytes: number;
  maxHeaderBytes: number;
  maxParamLength: number;
  /** Levels of arrays and objects in a body. */
  maxDepth: number;
  maxConnections: number;
  /** null behind a proxy, which is the only address then. */
  maxConnectionsPerAddress: number | null;
  /** Until the headers are there. */
  headersMs: number;
  /** Until the whole request is there, its body included. */
  requestMs: number;
  /** How long a connection stays open between two requests. */
  idleMs: number;
  /** How often the two limits of time are looked at. */
  checkMs: number;
};

export const DEFAULT_LIMITS: ServerLimits = {
  maxBodyBytes: 1024 ** 2,
  maxHeaderBytes: 16 * 1024,
  maxParamLength: 256,
  maxDepth: 64,
  maxConnections: 4096,
  maxConnectionsPerAddress: 2048,
  headersMs: 10_000,
  requestMs: 300_000,
  idleMs: 30_000,
  checkMs: 2_000,
};
