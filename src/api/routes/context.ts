import type { FastifyRequest } from 'fastify';
import type { EventStreams } from '../events.ts';

/** What routes need beside the caller's service. */
export type RouteContext = {
  /** How the world reaches this server; null: as the request did. */
  publicUrl: string | null;
  streams: EventStreams;
  limits: RouteLimits;
};

export type RouteLimits = {
  /** How long a synchronous execution is waited for; after that the answer is 202. */
  syncWaitMs: number;
  /** Of the text of a log inside of another answer. */
  maxLogChars: number;
  /** How long a URL that was signed works. */
  urlSeconds: number;
  /** Of an execution's request: its input may be large. */
  maxRequestBytes: number;
  /** Of an archive that is uploaded. */
  maxUploadBytes: number;
};

export const ROUTE_LIMITS: RouteLimits = {
  syncWaitMs: 15 * 60_000,
  maxLogChars: 1024 ** 2,
  urlSeconds: 3600,
  maxRequestBytes: 17 * 1024 ** 2,
  maxUploadBytes: 256 * 1024 ** 2,
};

/**
 * What is kept on this machine is signed as a path of this server. The name is that by which we were called, which was looked at;
 * not `request.host`, for which Fastify takes whatever a caller says to a proxy in X-Forwarded-Host.
 */
export function absolute(url: string, request: FastifyRequest, { publicUrl }: Pick<RouteContext, 'publicUrl'>): string {
  if (!url.startsWith('/')) return url;
  const protocol = request.protocol === 'https' ? 'https' : 'http';
  return `${publicUrl ?? `${protocol}://${request.headers.host}`}${url}`;
}
