import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SkillboxError } from '../base/index.ts';
import { SCOPES, type Service } from '../service/index.ts';
import type { ApiCaller, RouteScope } from './caller.ts';
import { Proven } from './proven.ts';
import type { Rates } from './rates.ts';

export type GuardOptions = {
  /** Who holds this bearer token; a token that stands for nobody is refused with `UNAUTHENTICATED`. */
  authenticate(token: string): Promise<ApiCaller>;
  /** Who was let in with it a moment ago, told without asking anybody; null says nothing about the token. */
  recall?(token: string): ApiCaller | null;
  /** What that caller can do. Made when a route first asks for it. */
  serviceFor(caller: ApiCaller): Service;
  /** Where a key comes from that is let in here; without it, where those of a server come from. */
  keyHint?: string;
};

/** Nothing is reached but by whom its route says, and a route that does not say cannot be there. */
export function requireScopes(server: FastifyInstance, options: GuardOptions): void {
  server.addHook('onRoute', ({ url, config }) => {
    if (!isRouteScope(config?.scope))
      throw new SkillboxError('INTERNAL', `the route ${url} does not say which scope it takes`);
  });
  server.decorateRequest('identity', null);
  server.decorateRequest('confirming', function (this: FastifyRequest) {
    const token = bearerOf(this) ?? '';
    const { scope } = this.routeOptions.config;
    return async () => requireScope(options.recall?.(token) ?? (await options.authenticate(token)), scope);
  });
  server.decorateRequest('confirm', function (this: FastifyRequest) {
    return this.confirming()();
  });
  server.decorateRequest('caller', { getter: callerOf });
  // By the caller, who is the same object as long as nobody need be asked again.
  const services = new WeakMap<ApiCaller, Service>();
  server.decorateRequest('service', {
    getter(this: FastifyRequest) {
      const caller = callerOf.call(this);
      let service = services.get(caller);
      if (service === undefined) {
        service = options.serviceFor(caller);
        services.set(caller, service);
      }
      return service;
    },
  });
}

/** Finds out who is calling. There is nothing to wait for when they were let in a moment ago. */
export type Entry = (request: FastifyRequest, scope: RouteScope | undefined) => void | Promise<void>;

export function createEntry(options: GuardOptions, rates: Rates): Entry {
  const parts: IdentifyParts = { authenticate: token => options.authenticate(token), rates, proven: new Proven() };
  const enter = (request: FastifyRequest, caller: ApiCaller, scope: RouteScope | undefined) => {
    request.identity = caller;
    rates.admit(caller);
    request.isOpen = true;
    requireScope(caller, scope);
  };
  return (request, scope) => {
    // Nothing is at this path; the handler that says so has no scope.
    if (scope === 'anyone' || request.is404) return rates.admitAnonymous(request);
    const token = bearerOf(request);
    if (token === null) {
      rates.admitAnonymous(request);
      const hint = options.keyHint;
      throw new SkillboxError('UNAUTHENTICATED', 'the request does not say who is calling', hint ? { hint } : {});
    }
    const known = options.recall?.(token) ?? null;
    if (known !== null) return enter(request, known, scope);
    return identify(token, request, parts).then(caller => enter(request, caller, scope));
  };
}

type IdentifyParts = Pick<GuardOptions, 'authenticate'> & { rates: Rates; proven: Proven };

async function identify(
  token: string,
  request: FastifyRequest,
  { authenticate, rates, proven }: IdentifyParts,
): Promise<ApiCaller> {
  if (!proven.has(token)) rates.admitToken(request);
  try {
    const caller = await authenticate(token);
    proven.add(token);
    return caller;
  } catch (error) {
    if (error instanceof SkillboxError && error.code === 'UNAUTHENTICATED') {
      proven.drop(token);
      rates.countFailure(request);
    }
    throw error;
  }
}

function callerOf(this: FastifyRequest): ApiCaller {
  if (this.identity !== null) return this.identity;
  throw new SkillboxError('INTERNAL', 'a route for anyone has no caller');
}

function isRouteScope(scope: RouteScope | undefined): boolean {
  if (scope === 'anyone' || scope === 'caller') return true;
  const wanted = [scope ?? []].flat();
  return wanted.length > 0 && wanted.every(each => SCOPES.includes(each));
}

/** No scope, no access: also for a caller that has all of them. */
function requireScope({ scopes }: ApiCaller, wanted: RouteScope | undefined): void {
  if (wanted === 'caller') return;
  // Most routes take one scope, and every request comes by here.
  if (typeof wanted === 'string' && wanted !== 'anyone' && scopes.includes(wanted)) return;
  const any = wanted === undefined || wanted === 'anyone' ? [] : [wanted].flat();
  if (any.some(scope => scopes.includes(scope))) return;
  throw new SkillboxError('FORBIDDEN', `this needs the scope ${any.join(' or ')}`, { details: { scopes: any } });
}

const BEARER = /^Bearer +([\x21-\x7e]{1,8192})$/i;

/** null: there is none, or nothing that could be one. */
function bearerOf({ headers }: FastifyRequest): string | null {
  return BEARER.exec(headers.authorization ?? '')?.[1] ?? null;
}
