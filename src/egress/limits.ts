const MIB = 1024 ** 2;

export type EgressLimits = {
  connections: number;
  headerBytes: number;
  headersMs: number;
  /** To find a host and reach it, all its addresses together. */
  connectMs: number;
  /** Without a byte in either direction. */
  idleMs: number;
  /** One connection, whatever flows. */
  lifeMs: number;
  /** What all connections together may carry out and in. */
  sentBytes: number;
  receivedBytes: number;
};

export const DEFAULT_EGRESS_LIMITS: EgressLimits = {
  connections: 64,
  headerBytes: 16 * 1024,
  headersMs: 10_000,
  connectMs: 10_000,
  idleMs: 60_000,
  lifeMs: 900_000,
  sentBytes: 16 * MIB,
  receivedBytes: 4096 * MIB,
};

/** Counts against one budget for the whole life of a proxy; false once it is used up. */
export class Budget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }
}
