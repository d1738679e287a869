import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OidcSettings } from '../../src/callers/index.ts';
import { openOidc } from '../../src/callers/oidc.ts';
import { tidy } from '../support/temp.ts';
import { makeKey, openGate } from './support.ts';

tidy();

type Keys = Awaited<ReturnType<typeof generateKeyPair>>;

let server: Server;
let issuer = '';
let ours: Keys;
let rsa: Keys;
let theirs: Keys;
const asked: string[] = [];
let named: string | null = null;

/** A real issuer on loopback: its configuration, its keys, and what it must not say. */
beforeAll(async () => {
  ours = await generateKeyPair('ES256', { extractable: true });
  rsa = await generateKeyPair('RS256', { extractable: true });
  theirs = await generateKeyPair('ES256', { extractable: true });
  const keys = [
    { ...(await exportJWK(ours.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' },
    { ...(await exportJWK(rsa.publicKey)), kid: 'two', alg: 'RS256', use: 'sig' },
  ];
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const said: Record<string, unknown> = {
      '/.well-known/openid-configuration': { issuer: named ?? issuer, jwks_uri: `${issuer}/keys` },
      '/moved/.well-known/openid-configuration': null,
      '/keys': { keys },
    };
    const body = said[request.url ?? ''];
    if (body === null) response.writeHead(302, { location: `${issuer}/.well-known/openid-configuration` }).end();
    else if (request.url === '/slow') return;
    else
      response
        .writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
        .end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const settings = (changes: Partial<OidcSettings> = {}): OidcSettings => ({
  issuer,
  audience: 'skillbox',
  jwksUrl: null,
  algorithms: ['ES256'],
  tenantClaim: 'tenant',
  scopesClaim: 'scope',
  grants: null,
  ...changes,
});

const now = () => Math.floor(Date.now() / 1000);

type Wish = { claims?: Record<string, unknown>; key?: Keys; alg?: string; kid?: string };

async function tokenOf({ claims = {}, key = ours, alg = 'ES256', kid = 'one' }: Wish = {}): Promise<string> {
  const all = {
    iss: issuer,
    aud: 'skillbox',
    sub: 'mia@example.org',
    exp: now() + 300,
    tenant: 'acme',
    scope: 'openid read run',
    ...claims,
  };
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return new SignJWT(given).setProtectedHeader({ alg, kid }).sign(key.privateKey);
}

describe('a token of the issuer', () => {
  it('stands for its person, with the scopes that it names', async () => {
    const oidc = openOidc(settings());
    expect(await oidc.verify(await tokenOf())).toMatchObject({
      tenant: 'acme',
      id: 'oidc:mia@example.org',
      scopes: ['read', 'run'],
    });
  });

  it('may hold its words in a list, and the operator may say what they give', async () => {
    const grants = { developers: ['run', 'publish'], readers: ['read'] } as const;
    const oidc = openOidc(settings({ scopesClaim: 'groups', grants }));
    const groups = ['developers', 'strangers', 'constructor', 7];
    expect((await oidc.verify(await tokenOf({ claims: { groups } }))).scopes).toEqual(['run', 'publish']);
    // With grants, the name of a scope is a word like any other.
    await expect(oidc.verify(await tokenOf({ claims: { groups: ['admin'] } }))).rejects.toThrow('no scope');
  });

  it('is let in as long as it holds, if there is such a tenant', async () => {
    const gate = openGate({ oidc: settings() });
    await expect(gate.callers.verify(await tokenOf())).rejects.toThrow('tenant');
    await makeKey(gate, 'acme');
    const token = await tokenOf();
    expect(await gate.callers.verify(token)).toMatchObject({ tenant: 'acme', key: null, requestsPerMinute: 60 });
    expect(gate.callers.recall(token)).not.toBeNull();
  });

  it('is checked with keys that are asked for once', async () => {
    asked.length = 0;
    const oidc = openOidc(settings());
    for (let i = 0; i < 3; i++) await oidc.verify(await tokenOf());
    expect(asked).toEqual(['/.well-known/openid-configuration', '/keys']);
  });
});

describe('no access', () => {
  const refusals: [string, () => Promise<string>][] = [
    ['another issuer', () => tokenOf({ claims: { iss: 'https://elsewhere.example' } })],
    ['another audience', () => tokenOf({ claims: { aud: 'billing' } })],
    ['no audience', () => tokenOf({ claims: { aud: undefined } })],
    ['expired', () => tokenOf({ claims: { exp: now() - 31 } })],
    ['no end', () => tokenOf({ claims: { exp: undefined } })],
    ['not yet', () => tokenOf({ claims: { nbf: now() + 100 } })],
    ['nobody', () => tokenOf({ claims: { sub: undefined } })],
    ['a name with a line break', () => tokenOf({ claims: { sub: 'a\nb' } })],
    ['no tenant', () => tokenOf({ claims: { tenant: undefined } })],
    ['a tenant that is no text', () => tokenOf({ claims: { tenant: ['acme'] } })],
    ['no scopes', () => tokenOf({ claims: { scope: undefined } })],
    ['scopes that are none', () => tokenOf({ claims: { scope: 'openid profile ADMIN' } })],
    ['a key of somebody else', () => tokenOf({ key: theirs })],
    ['a key that the issuer does not have', () => tokenOf({ kid: 'three' })],
    ['an algorithm that is not pinned', () => tokenOf({ key: rsa, alg: 'RS256', kid: 'two' })],
    [
      'no signature',
      async () => new UnsecuredJWT({ tenant: 'acme', scope: 'admin' }).setIssuer(issuer).setSubject('x').encode(),
    ],
    [
      'the public key as a shared secret',
      async () => {
        const secret = new TextEncoder().encode(JSON.stringify(await exportJWK(ours.publicKey)));
        return new SignJWT({ tenant: 'acme', scope: 'admin', sub: 'x', aud: 'skillbox', iss: issuer, exp: now() + 9 })
          .setProtectedHeader({ alg: 'HS256', kid: 'one' })
          .sign(secret);
      },
    ],
    ['an altered claim', async () => altered(await tokenOf())],
    ['a long one', async () => `${'a'.repeat(9000)}.b.c`],
    ['no token at all', async () => 'a.b'],
  ];

  it.each(refusals)('%s', async (_name, make) => {
    await expect(openOidc(settings()).verify(await make())).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('a clock may be some seconds slow', async () => {
    expect((await openOidc(settings()).verify(await tokenOf({ claims: { exp: now() - 20 } }))).tenant).toBe('acme');
  });

  it('while the issuer cannot be asked, and it is asked again', async () => {
    const gone = openOidc(settings({ issuer: 'http://127.0.0.1:9' }));
    await expect(gone.verify(await tokenOf())).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    named = 'http://127.0.0.1:1/other';
    const oidc = openOidc(settings());
    await expect(oidc.verify(await tokenOf())).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    named = null;
    expect((await oidc.verify(await tokenOf())).tenant).toBe('acme');
  });

  it('by an address that leads elsewhere', async () => {
    const moved = openOidc(settings({ issuer: `${issuer}/moved` }));
    await expect(moved.verify(await tokenOf())).rejects.toMatchObject({ code: 'BACKEND_UNAVAILABLE' });
    for (const address of ['http://issuer.example', 'ftp://x', 'nothing'])
      expect(() => openOidc(settings({ issuer: address }))).toThrow('not https');
    expect(() => openOidc(settings({ jwksUrl: 'http://keys.example/' }))).toThrow('not https');
  });

  it.each([[['HS256']], [['none']], [['RS256', 'HS512']], [[]]])('algorithms %j cannot be configured', algorithms => {
    expect(() => openOidc(settings({ algorithms }))).toThrow('cannot be taken');
  });
});

function altered(token: string): string {
  const [head = '', body = '', signature = ''] = token.split('.');
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>;
  const other = Buffer.from(JSON.stringify({ ...claims, scope: 'admin' })).toString('base64url');
  return `${head}.${other}.${signature}`;
}
