import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import type { Challenge } from '../caller.ts';
import type { ApiServer } from '../server.ts';
import { absolute } from './context.ts';

/** Whose tokens are taken, told to those who have none yet: RFC 9728, as MCP has it. */
export type SignIn = {
  issuer: string;
  /** What a client asks the issuer for; empty: it asks for nothing by name. */
  scopes: readonly string[];
  /** How the world reaches this server, without a slash at its end; null: as each request did. */
  publicUrl: string | null;
};

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

const Resource = Type.Object({
  resource: Type.String({ description: 'What a token must be for.' }),
  authorization_servers: Type.Array(Type.String(), { description: 'Who gives tokens.' }),
  bearer_methods_supported: Type.Array(Type.String()),
  scopes_supported: Type.Optional(Type.Array(Type.String())),
  resource_name: Type.String(),
});

/** For the path, and for the server as a whole: some clients ask only there. */
export function signInRoutes(server: ApiServer, path: string, signIn: SignIn): void {
  const config = { scope: 'anyone' } as const;
  const tags = ['mcp'];
  const summary = 'Who gives tokens for this server (RFC 9728)';
  const schema = { tags, summary, operationId: 'getProtectedResource', response: { 200: Resource } };
  const hidden = { ...schema, operationId: 'getProtectedServer', hide: true };
  server.get(`${WELL_KNOWN}${path}`, { config, schema }, async request => describe(request, path, signIn));
  server.get(WELL_KNOWN, { config, schema: hidden }, async request => describe(request, '', signIn));
}

function describe(request: FastifyRequest, path: string, { issuer, scopes, publicUrl }: SignIn) {
  const asked = scopes.filter(isScopeToken);
  return {
    resource: `${absolute('/', request, { publicUrl }).slice(0, -1)}${path}`,
    authorization_servers: [issuer],
    bearer_methods_supported: ['header'],
    ...(asked.length === 0 ? {} : { scopes_supported: asked }),
    resource_name: 'Skillbox',
  };
}

/** A client that is refused learns from the header where to ask, and for what. */
export function challengeFor(path: string, { scopes, publicUrl }: SignIn): Challenge {
  const asked = scopes.filter(isScopeToken).join(' ');
  return (request, lacks) => {
    // As a URL it holds nothing that could end the quotes.
    const metadata = new URL(absolute(`${WELL_KNOWN}${path}`, request, { publicUrl })).href;
    const error =
      lacks === 'scope' ? 'insufficient_scope' : request.headers.authorization === undefined ? null : 'invalid_token';
    const parts = [
      ...(error === null ? [] : [`error="${error}"`]),
      `resource_metadata="${metadata}"`,
      ...(asked === '' ? [] : [`scope="${asked}"`]),
    ];
    return `Bearer ${parts.join(', ')}`;
  };
}

/** The characters that RFC 6749 leaves to a scope; a quote is none of them. */
function isScopeToken(word: string): boolean {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(word);
}
