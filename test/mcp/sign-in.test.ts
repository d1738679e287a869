import { once } from 'node:events';
import { createServer, get, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LiveServer, openLiveServer } from '../support/live-server.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';
import { tidy } from '../support/temp.ts';

tidy();

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

let issuer: Issuer;
let server: LiveServer;
beforeAll(async () => {
  if (NO_SANDBOX) return;
  issuer = await openIssuer();
  server = await openLiveServer({ SKILLBOX_OIDC_ISSUER: issuer.url, SKILLBOX_OIDC_AUDIENCE: 'skillbox' });
  await server.makeTenant('acme');
});
afterAll(async () => {
  await server?.close();
  issuer?.close();
});

describe.skipIf(NO_SANDBOX)('a server with an issuer', () => {
  test('tells those who are not known who gives tokens, and for what (RFC 9728)', async () => {
    const refused = await server.ask(null, 'POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'ping' } });
    const where = `resource_metadata="${server.url}${WELL_KNOWN}/mcp"`;
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toBe(`Bearer ${where}, scope="read run"`);
    const wrong = await server.ask('sbx_nobody', 'GET', '/mcp');
    expect(wrong.status).toBe(401);
    expect(wrong.headers.get('www-authenticate')).toBe(`Bearer error="invalid_token", ${where}, scope="read run"`);

    const about = { authorization_servers: [issuer.url], bearer_methods_supported: ['header'] };
    const told = await server.ask(null, 'GET', `${WELL_KNOWN}/mcp`);
    expect(told.json).toMatchObject({ ...about, resource: `${server.url}/mcp`, scopes_supported: ['read', 'run'] });
    expect((await server.ask(null, 'GET', WELL_KNOWN)).json).toMatchObject({ ...about, resource: server.url });
    // A key with neither scope is known, and a token with them would do.
    const { key } = await server.makeKey('acme', ['publish']);
    const lacking = await server.ask(key, 'POST', '/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'ping' } });
    expect(lacking.status).toBe(403);
    expect(lacking.headers.get('www-authenticate')).toBe(
      `Bearer error="insufficient_scope", ${where}, scope="read run"`,
    );
  });

  test('says nothing more where a refusal is about something else', async () => {
    const other = await server.ask(null, 'GET', '/mcp', { headers: { origin: 'https://evil.example' } });
    expect(other.status).toBe(403);
    expect(other.headers.get('www-authenticate')).toBeNull();
    expect(await headersFor(`${server.url}/mcp`, 'evil.example')).not.toHaveProperty('www-authenticate');
    expect(await headersFor(`${server.url}/mcp`, 'localhost')).toMatchObject({
      'www-authenticate': expect.stringContaining(`resource_metadata="http://localhost${WELL_KNOWN}/mcp"`),
    });
    expect((await server.ask(null, 'GET', '/v1/skills')).headers.get('www-authenticate')).toBe('Bearer');
  });

  test('a client that knows the address alone gets a token and is let in', async () => {
    const authProvider = new ClientCredentialsProvider({
      clientId: 'agent',
      clientSecret: 'of the agent',
      expectedIssuer: issuer.url,
    });
    const client = new Client({ name: 'tester', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { authProvider }));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('run_skill');
    expect(issuer.asked.at(-1)).toMatchObject({ resource: `${server.url}/mcp`, scope: 'read run' });
    await client.close();
  });
});

describe.skipIf(NO_SANDBOX)('what is told', () => {
  const settings = () => ({ SKILLBOX_OIDC_ISSUER: issuer.url, SKILLBOX_OIDC_AUDIENCE: 'skillbox' });

  test.each([
    {
      name: 'words of the issuer',
      env: { SKILLBOX_OIDC_GRANTS: 'tools.use=run,tools.all=admin,a"b=run' },
      words: ['tools.use'],
    },
    { name: 'groups, which nobody can ask for', env: { SKILLBOX_OIDC_SCOPES_CLAIM: 'groups' }, words: undefined },
  ])('$name', async ({ env, words }) => {
    const other = await openLiveServer({
      ...settings(),
      ...env,
      SKILLBOX_SERVER_PUBLIC_URL: 'https://skills.example.com/',
    });
    try {
      const { json } = await other.ask(null, 'GET', `${WELL_KNOWN}/mcp`);
      expect(json.scopes_supported).toEqual(words);
      expect(json.resource).toBe('https://skills.example.com/mcp');
      const refused = await other.ask(null, 'GET', '/mcp');
      const scope = words === undefined ? '' : `, scope="${words.join(' ')}"`;
      expect(refused.headers.get('www-authenticate')).toBe(
        `Bearer resource_metadata="https://skills.example.com${WELL_KNOWN}/mcp"${scope}`,
      );
    } finally {
      await other.close();
    }
  });

  test('of a proxy its word for the protocol is taken, not a name that a caller may have put there', async () => {
    const behind = await openLiveServer({ ...settings(), SKILLBOX_SERVER_PROXIES: '127.0.0.1' });
    try {
      const told = async (headers: Record<string, string>) => {
        const refused = await behind.ask(null, 'GET', '/mcp', { headers });
        expect(refused.status).toBe(401);
        const { json } = await behind.ask(null, 'GET', WELL_KNOWN, { headers });
        const resource = String(json.resource);
        expect(refused.headers.get('www-authenticate')).toContain(`"${resource}${WELL_KNOWN}/mcp"`);
        return resource;
      };
      expect(await told({ 'x-forwarded-host': 'evil.example' })).toBe(behind.url);
      expect(await told({ 'x-forwarded-host': 'a b"c' })).toBe(behind.url);
      expect(await told({ 'x-forwarded-proto': 'https' })).toBe(behind.url.replace('http:', 'https:'));
      expect(await told({ 'x-forwarded-proto': 'no protocol' })).toBe(behind.url);
    } finally {
      await behind.close();
    }
  });

  test('without an issuer nothing', async () => {
    const plain = await openLiveServer();
    try {
      expect((await plain.ask(null, 'GET', `${WELL_KNOWN}/mcp`)).status).toBe(404);
      expect((await plain.ask(null, 'GET', '/mcp')).headers.get('www-authenticate')).toBe('Bearer');
    } finally {
      await plain.close();
    }
  });
});

/** As somebody who calls the server by this name. */
async function headersFor(url: string, host: string): Promise<IncomingHttpHeaders> {
  const [answer] = (await once(get(url, { headers: { host } }), 'response')) as [IncomingMessage];
  answer.resume();
  return answer.headers;
}

type Issuer = { url: string; asked: Record<string, string>[]; close(): void };

/** An issuer on loopback that gives a token to whoever has a secret, for our audience. */
async function openIssuer(): Promise<Issuer> {
  const keys = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' };
  const asked: Record<string, string>[] = [];
  let url = '';
  const answer = async (request: IncomingMessage): Promise<unknown> => {
    if (request.url === '/keys') return { keys: [jwk] };
    if (request.url === '/.well-known/openid-configuration')
      return {
        issuer: url,
        jwks_uri: `${url}/keys`,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
        grant_types_supported: ['client_credentials'],
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
      };
    if (request.url !== '/token') return undefined;
    const wish = Object.fromEntries(new URLSearchParams(await textOf(request)));
    asked.push(wish);
    const claims = { iss: url, aud: 'skillbox', sub: 'agent', tenant: 'acme', scope: wish.scope ?? '' };
    const token = new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'one' }).setExpirationTime('5m');
    return { access_token: await token.sign(keys.privateKey), token_type: 'Bearer', expires_in: 300 };
  };
  const http: Server = createServer((request, response) => {
    void answer(request).then(body => {
      response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body ?? {}));
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return {
    url,
    asked,
    close() {
      http.closeAllConnections();
      http.close();
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
