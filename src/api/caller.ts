import type { FastifyRequest } from 'fastify';
import type { Scope, Service, WhoAmI } from '../service/index.ts';

/** Who is calling: a key, or a person whom an identity provider vouches for. `key` is null for the second. */
export type ApiCaller = WhoAmI & {
  key: string | null;
  /** How much of the server the tenant may have: see rates.ts. */
  requestsPerMinute: number;
};

/**
 * What a route asks for: one scope, any one of several, `caller` for every caller whatever their scopes, `anyone` for those
 * who don't say who they are. There is no default: a route that says nothing cannot be registered.
 */
export type RouteScope = Scope | readonly Scope[] | 'caller' | 'anyone';

/** The text of a `WWW-Authenticate` header: for somebody who is not known, or who lacks a scope. */
export type Challenge = (request: FastifyRequest, lacks: 'identity' | 'scope') => string;

declare module 'fastify' {
  interface FastifyContextConfig {
    scope?: RouteScope;
    /** Refusals are told as JSON-RPC has them. */
    rpc?: boolean;
    /** What whoever is refused is told of how to get in; without it `Bearer` alone. */
    challenge?: Challenge;
  }
  interface FastifyRequest {
    /** Only on routes that are not for `anyone`. */
    readonly caller: ApiCaller;
    /** What the caller can do; it sees the caller's tenant only. */
    readonly service: Service;
    /** Throws when the caller would not be let in any more: for answers that come long after their request. */
    confirm(): Promise<void>;
    /** The same for later: it holds on to nothing of the request. */
    confirming(): () => Promise<void>;
    /** Counts further requests that came with this one; throws RATE_LIMITED. */
    charge(count: number): void;
    /** Filled by the guard; routes read `caller`. */
    identity: ApiCaller | null;
    /** It counts among the tenant's requests that are on the way. */
    isOpen: boolean;
  }
}
