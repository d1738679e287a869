import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SkillboxError } from '../base/index.ts';
import { SCOPES, type Service } from '../service/index.ts';
import type { ApiCaller, RouteScope } from './caller.ts';

export type GuardOptions = {
  /** Who holds this bearer token; a token that stands for nobody is refused with `UNAUTHENTICATED`. */
  authenticate(token: string): Promise<ApiCaller>;
  /** What that caller can do. Made when a route first asks for it. */
  serviceFor(caller: ApiCaller): Service;
};

/** Nothing is reached but by whom its route says, and a route that does not say cannot be there. */
export function guard(server: FastifyInstance, options: GuardOptions): void {
  server.addHook('onRoute', ({ url, config }) => {
    if (!isRouteScope(config?.scope))
      throw new SkillboxError('INTERNAL', `the route ${url} does not say which scope it takes`);
  });
  server.decorateRequest('identity', null);
  server.decorateRequest('caller', { getter: callerOf });
  const services = new WeakMap<FastifyRequest, Service>();
  server.decorateRequest('service', {
    getter(this: FastifyRequest) {
      const service = services.get(this) ?? options.serviceFor(callerOf.call(this));
      services.set(this, service);
      return service;
    },
  });
  // Before the body is read: who may not ask does not get to send megabytes.
  server.addHook('onRequest', async (request, reply) => {
    const scope = request.routeOptions.config.scope;
    // Nothing is at this path; the handler that says so has no scope.
    if (request.is404 || scope === 'anyone') return;
    try {
      const caller = await options.authenticate(bearerOf(request));
      requireScope(caller, scope);
      request.identity = caller;
    } catch (error) {
      leaveBody(request, reply);
      throw error;
    }
  });
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
  const any = wanted === undefined || wanted === 'anyone' ? [] : [wanted].flat();
  if (any.some(scope => scopes.includes(scope))) return;
  throw new SkillboxError('FORBIDDEN', `this needs the scope ${any.join(' or ')}`, { details: { scopes: any } });
}

const BEARER = /^Bearer +([\x21-\x7e]{1,8192})$/i;

function bearerOf(request: FastifyRequest): string {
  const { authorization } = request.headers;
  if (authorization === undefined)
    throw new SkillboxError('UNAUTHENTICATED', 'the request says nothing of who is calling');
  const token = BEARER.exec(authorization)?.[1];
  if (token !== undefined) return token;
  throw new SkillboxError('UNAUTHENTICATED', 'the Authorization header is not of the form "Bearer KEY"');
}

/** The body of a refused request is not waited for: the connection ends with the answer. */
export function leaveBody(request: FastifyRequest, reply: FastifyReply): void {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (coding !== undefined || (length !== undefined && length !== '0')) reply.header('connection', 'close');
}
