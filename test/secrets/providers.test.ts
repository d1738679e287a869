import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import type { Pin } from '../../src/broker/index.ts';
import { capabilitiesOf, type Provider, readProvider, SHIPPED_PROVIDERS } from '../../src/secrets/index.ts';
import { faultOfPattern } from '../../src/secrets/path-pattern.ts';
import { BOUND_CUSTOMS, SHIPPED_ENDPOINTS } from '../../src/skill/index.ts';
import { pinsTo } from '../support/broker.ts';
import { TESTER } from '../support/events.ts';
import { eventsIn, openTestSecrets } from '../support/secrets.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { UPSTREAM_ROOT, UpstreamServer } from '../support/upstream.ts';

tidy();

const GOOD = `version: 1
name: acme
title: Acme orders
url: https://orders.acme.example
auth: { form: header, name: X-Acme-Key }
endpoints:
  orders.read:
    what: read orders
    requests: [GET /v1/orders, GET /v1/orders/*]
  orders.create:
    requests: POST /v1/orders
    limits: { requests: 10 }
customs:
  acme-webhook: hooks.acme.example
`;

describe('testing a provider at its host', () => {
  const upstream = new UpstreamServer(true);
  const fault = async (pins: Pin[], roots: string[]) => {
    const { providers, store } = openTestSecrets(tempDir('providers'), { pins, roots });
    const checked = await providers.test('anthropic', true);
    await store.close();
    return checked.at(-1);
  };

  test('it is dialled where the operator says, and must be trusted as the broker trusts', async () => {
    await upstream.start();
    onTestFinished(() => upstream.close());
    const pins = pinsTo(upstream.port, ['api.anthropic.com']);
    expect(await fault(pins, [UPSTREAM_ROOT])).toEqual({ what: 'its host', fault: null });
    const untrusted = await fault(pins, []);
    expect(untrusted?.fault).toMatch(/^api\.anthropic\.com cannot be trusted: [^;]+$/);
    expect(upstream.requests).toEqual([]);
    await upstream.close();
    expect((await fault(pins, [UPSTREAM_ROOT]))?.fault).toContain('cannot be reached');
  });
});

/** The file that an operator would write for it. */
function toFile({ name, title, scheme, host, port, auth, allowPrivate, endpoints, customs }: Provider): string {
  return stringify({
    version: 1,
    name,
    title,
    url: `${scheme}://${host}:${port}`,
    private: allowPrivate,
    auth,
    endpoints: Object.fromEntries(
      endpoints.map(({ name: each, what, carriesOut, requests, limits }) => [
        each,
        {
          what,
          'carries-out': carriesOut,
          requests: requests.map(({ methods, path }) => `${methods.join(',')} ${path}`),
          limits: Object.fromEntries(Object.entries(limits).filter(([, most]) => most !== null)),
        },
      ]),
    ),
    customs: Object.fromEntries(customs.map(({ key, hosts }) => [key, [...hosts]])),
  });
}

describe('shipped providers', () => {
  test('SK-08 those that the seed and the design name are there', () => {
    expect(SHIPPED_PROVIDERS.map(({ name }) => name)).toEqual([
      'anthropic',
      'brave',
      'cloudflare',
      'discord',
      'github',
      'gitlab',
      'google',
      'hetzner',
      'notion',
      'openai',
      'openweathermap',
      'slack',
    ]);
    const names = capabilitiesOf(SHIPPED_PROVIDERS);
    for (const name of ['anthropic/messages.create', 'openai/chat.completions', 'discord/messages.send'])
      expect(names).toContain(name);
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(SHIPPED_PROVIDERS)("SK-08 $name: the operator's reader takes it, word for word", provider => {
    const { provider: read, diagnostics } = readProvider(toFile(provider), 'x.yaml');
    expect(diagnostics).toEqual([]);
    expect(read).toEqual(provider);
    expect(provider).toMatchObject({ scheme: 'https', port: 443, allowPrivate: false });
  });

  test('what sends, posts or creates for others to read carries out', () => {
    const carriers = SHIPPED_PROVIDERS.flatMap(({ name, endpoints }) =>
      endpoints.filter(({ carriesOut }) => carriesOut).map(endpoint => `${name}/${endpoint.name}`),
    );
    for (const name of [
      'discord/messages.send',
      'slack/messages.send',
      'github/gists.create',
      'notion/pages.create',
      'cloudflare/dns.write',
    ])
      expect(carriers).toContain(name);
    for (const name of ['github/repos.read', 'anthropic/messages.create', 'brave/web.search'])
      expect(carriers).not.toContain(name);
  });

  test('SK-04 lint knows exactly their names', () => {
    const names = Object.entries(SHIPPED_ENDPOINTS).flatMap(([name, endpoints]) =>
      endpoints.map(each => `${name}/${each}`),
    );
    expect(names.sort()).toEqual(capabilitiesOf(SHIPPED_PROVIDERS).sort());
    expect([...BOUND_CUSTOMS]).toEqual(SHIPPED_PROVIDERS.flatMap(({ customs }) => customs.map(({ key }) => key)));
  });
});

describe("the operator's own", () => {
  test('a file is read, YAML and JSON alike; what writes carries out unless it is said otherwise', () => {
    const { provider, diagnostics } = readProvider(GOOD, 'acme.yaml');
    expect(diagnostics).toEqual([]);
    expect(provider).toMatchObject({
      name: 'acme',
      host: 'orders.acme.example',
      port: 443,
      allowPrivate: false,
      auth: { form: 'header', name: 'x-acme-key' },
      endpoints: [
        { name: 'orders.read', carriesOut: false, limits: { requests: null } },
        { name: 'orders.create', carriesOut: true, limits: { requests: 10 } },
      ],
      customs: [{ key: 'acme-webhook', hosts: ['hooks.acme.example'] }],
    });
    const json = JSON.stringify({
      version: 1,
      name: 'acme',
      url: 'http://127.0.0.1:8080',
      private: true,
      auth: { form: 'query', name: 'key' },
      endpoints: { all: { requests: ['GET,HEAD /a/**'] } },
    });
    expect(readProvider(json, 'a.json').provider).toMatchObject({ scheme: 'http', port: 8080, allowPrivate: true });
  });

  test.each([
    ['version: 1', 'version: 2', 1],
    ['name: acme', 'name: Acme', 2],
    ['name: acme', 'name: custom', 2],
    ['name: acme', 'name: __proto__', 2],
    ['https://orders.acme.example', 'https://orders.acme.example/path', 4],
    ['https://orders.acme.example', 'http://orders.acme.example', 4],
    ['https://orders.acme.example', 'https://user@orders.acme.example', 4],
    ['https://orders.acme.example', 'https://10.0.0.1', 4],
    ['https://orders.acme.example', 'https://169.254.169.254', 4],
    ['https://orders.acme.example', 'https://0x7f.1', 4],
    ['https://orders.acme.example', 'ftp://orders.acme.example', 4],
    ['name: X-Acme-Key', 'name: Host', 5],
    ['name: X-Acme-Key', 'name: "x\\r\\ny"', 5],
    ['form: header', 'form: magic', 5],
    ['form: header', 'form: bearer', 5],
    ['GET /v1/orders,', 'FETCH /v1/orders,', 9],
    ['GET /v1/orders,', 'GET /v1/../orders,', 9],
    ['GET /v1/orders,', 'GET /v1/%2e%2e,', 9],
    ['GET /v1/orders,', 'GET /**/orders,', 9],
    ['GET /v1/orders,', 'GET /v1/ord*,', 9],
    ['GET /v1/orders,', 'GET v1/orders,', 9],
    ['GET /v1/orders,', 'GET //orders,', 9],
    ['requests: 10', 'requests: -1', 12],
    ['requests: 10', 'requests: 1e99', 12],
    ['requests: 10', 'request: 10', 12],
    ['orders.read:', '"a/b":', 7],
    ['hooks.acme.example', '"*.acme.example"', 14],
    ['what: read orders', 'what: &a read orders', 8],
    ['what: read orders', 'what: !!js/function x', 8],
    ['title: Acme orders', 'title: "Acme\\u001b[31m"', 3],
    ['title: Acme orders', 'name: again', 3],
  ])('%j written as %j is told at its line', (right, wrong, line) => {
    const { provider, diagnostics } = readProvider(GOOD.replace(right, wrong), 'acme.yaml');
    expect(provider).toBeNull();
    expect(diagnostics[0]).toMatchObject({ file: 'acme.yaml', line });
  });

  test('whatever stands in a file, the reader answers with a provider or with diagnostics', () => {
    const broken = fc.tuple(fc.nat(GOOD.length), fc.nat(30), fc.string({ maxLength: 20, unit: 'binary' }));
    const texts = fc.oneof(
      fc.string({ maxLength: 400, unit: 'binary' }),
      fc.json(),
      broken.map(([at, length, text]) => GOOD.slice(0, at) + text + GOOD.slice(at + length)),
    );
    fc.assert(
      fc.property(texts, text => {
        const { provider, diagnostics } = readProvider(text, 'x.yaml');
        expect(provider === null).toBe(diagnostics.length > 0);
      }),
      { numRuns: 500 },
    );
  });

  test('the example in docs/secrets.md is one', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/secrets.md'), 'utf8');
    const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
    expect(readProvider(example, 'docs/secrets.md').diagnostics).toEqual([]);
    expect(readProvider(example, 'docs/secrets.md').provider?.name).toBe('acme');
  });

  test('bombs are refused at once', () => {
    const deep = `endpoints: ${'['.repeat(20_000)}`;
    const aliases = `a: &a [x,x]\n${Array.from({ length: 20 }, (_, at) => `b${at}: [*a,*a]`).join('\n')}`;
    for (const text of [deep, aliases, 'x'.repeat(100_000)]) expect(readProvider(text, 'x').provider).toBeNull();
    const many = Array.from({ length: 300 }, (_, at) => `  e${at}: { requests: GET /x }`).join('\n');
    expect(
      readProvider(GOOD.replace(/endpoints:[\s\S]*customs/, `endpoints:\n${many}\ncustoms`), 'x').provider,
    ).toBeNull();
  });

  test('added, replaced, listed, removed, and told', async () => {
    const directory = tempDir('providers');
    const { providers, store } = openTestSecrets(directory);
    const file = join(directory, 'acme.yaml');
    writeFileSync(file, GOOD);
    await providers.add(file, TESTER);
    expect(providers.get('acme')).toMatchObject({ origin: 'operator', title: 'Acme orders' });
    writeFileSync(file, GOOD.replace('Acme orders', 'Acme again'));
    await providers.add(file, TESTER);
    expect(providers.get('acme')?.title).toBe('Acme again');
    await providers.remove('acme', TESTER);
    expect(providers.get('acme')).toBeNull();
    expect((await eventsIn(store)).map(({ type, subject }) => [type, subject])).toEqual([
      ['provider.added', 'acme'],
      ['provider.added', 'acme'],
      ['provider.removed', 'acme'],
    ]);
    await expect(providers.remove('../x', TESTER)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(providers.remove('anthropic', TESTER)).rejects.toMatchObject({ code: 'USAGE' });
    await store.close();
  });

  test('nobody takes the place of a shipped one, by the command or by a file', async () => {
    const directory = tempDir('providers');
    const { providers, store } = openTestSecrets(directory);
    const file = join(directory, 'x.yaml');
    writeFileSync(file, GOOD.replace('name: acme', 'name: anthropic'));
    await expect(providers.add(file, TESTER)).rejects.toMatchObject({ code: 'PROVIDER_INVALID' });
    writeFileSync(file, GOOD);
    await providers.add(file, TESTER);
    const kept = join(directory, 'providers/acme.provider');
    writeFileSync(
      join(directory, 'providers/anthropic.provider'),
      readFileSync(kept, 'utf8').replace('name: acme', 'name: anthropic'),
    );
    expect(() => providers.list()).toThrow(expect.objectContaining({ code: 'PROVIDER_INVALID' }));
    await store.close();
  });

  test('nobody gives other hosts to a shipped custom secret, by the command or by a file', async () => {
    const directory = tempDir('providers');
    const { providers, store } = openTestSecrets(directory);
    const file = join(directory, 'x.yaml');
    const evil = GOOD.replace(/acme-webhook: .*/, 'openweathermap-api-key: evil.example.com');
    writeFileSync(file, evil);
    const fault = { code: 'PROVIDER_INVALID', message: expect.stringContaining('custom/openweathermap-api-key') };
    await expect(providers.add(file, TESTER)).rejects.toMatchObject(fault);
    writeFileSync(file, GOOD);
    await providers.add(file, TESTER);
    writeFileSync(join(directory, 'providers/acme.provider'), evil);
    expect(() => providers.list()).toThrow(expect.objectContaining(fault));
    await providers.remove('acme', TESTER);
    expect(providers.list().map(({ name }) => name)).not.toContain('acme');
    await store.close();
  });
});

describe('path patterns', () => {
  const literal = fc.stringMatching(/^[a-z0-9._~-]{1,8}$/).filter(text => text !== '.' && text !== '..');
  const segment = fc.oneof(literal, fc.constant('*'));

  test('literals, stars, and two stars at the end are patterns', () => {
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 8 }), fc.boolean(), (segments, open) => {
        expect(faultOfPattern(`/${segments.join('/')}${open ? '/**' : ''}`)).toBeNull();
      }),
    );
  });

  test('one segment that could be read in two ways spoils it', () => {
    const bad = fc.constantFrom(
      '',
      '.',
      '..',
      '%2e',
      'a%2fb',
      'a b',
      'a\\b',
      'a?b',
      'a#b',
      '**',
      'a*',
      'ä',
      'a\nb',
      'a;b',
      '\0',
    );
    fc.assert(
      fc.property(
        fc.array(segment, { maxLength: 4 }),
        bad,
        fc.array(segment, { minLength: 1, maxLength: 4 }),
        (before, wrong, after) => {
          expect(faultOfPattern(`/${[...before, wrong, ...after].join('/')}`)).not.toBeNull();
        },
      ),
    );
  });

  test.each(['', 'v1', '/**', 'https://x/', '/a//b', '/a/'])('%j is none', pattern => {
    expect(faultOfPattern(pattern)).not.toBeNull();
  });
});
