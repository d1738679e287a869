import { expect, test } from 'vitest';
import { onwardHead } from '../../src/broker/headers.ts';
import type { Endpoint } from '../../src/broker/index.ts';
import { Placeholders } from '../../src/broker/placeholder.ts';
import { TokenCheck } from '../../src/broker/token.ts';
import { briefOf, endpointOf, newToken } from '../support/broker.ts';

/** The first line that the host gets, or why it gets none. */
function lineFor(query: string, name = 'api_key'): string {
  const head = headFor({ auth: { form: 'query', name, value: 'real&key' } }, query, []);
  return typeof head === 'string' ? (head.split('\r\n')[0] ?? '') : head.refused;
}

function headFor(changes: Partial<Endpoint>, query: string, raw: string[]) {
  const endpoint = endpointOf(changes);
  return onwardHead(raw, {
    target: { scheme: 'https', host: 'api.anthropic.com', port: 443, path: '/v1', query },
    allowance: { capability: endpoint.capability, endpoint, customs: [], private: false, known: [endpoint.auth.value] },
    placeholders: new Placeholders([]),
    token: new TokenCheck(briefOf(newToken())),
    length: 0,
    method: 'GET',
  });
}

test.each([
  'X_Acme_Key',
  'x.acme-key',
  'X_HTTP_Method_Override',
  'transfer_encoding',
  'Content_Length',
  'authorization',
])(
  'SK-07 what a caller sends as %s does not arrive: to CGI and its heirs it is the header that was taken out',
  name => {
    const auth = { form: 'header', name: 'x-acme-key', value: 'real' } as const;
    const head = headFor({ auth }, '', ['x_kept', 'yes', name, 'smuggled']);
    expect(head).toContain('x_kept: yes\r\n');
    expect(head).toContain('x-acme-key: real\r\n');
    expect(head).not.toContain('smuggled');
  },
);

test.each([
  '?api_key=2',
  '?API_KEY=2&api_key',
  '?api%5Fkey=2',
  '?api_key[]=2',
  '?api_key%5B%5D=2&api_key[x]=3',
  '?api.key=2',
  '?+api_key=2',
])('SK-07 a key that goes by query is the only one that arrives: %s', query => {
  expect(lineFor(query)).toBe('GET /v1?api_key=real%26key HTTP/1.1');
  expect(lineFor(`${query}&x=1`)).toBe('GET /v1?x=1&api_key=real%26key HTTP/1.1');
});

test('SK-07 a query that some servers part elsewhere is refused where the key is in it', () => {
  expect(lineFor('?x=1;api_key=2')).toContain('holds a ";"');
  expect(lineFor('?x=1%3Bapi_key=2')).toBe('GET /v1?x=1%3Bapi_key=2&api_key=real%26key HTTP/1.1');
});

test('other parameters go on as they came', () => {
  expect(lineFor('?q=a+b&api_keys=1&my_api_key=2&&z')).toBe(
    'GET /v1?q=a+b&api_keys=1&my_api_key=2&z&api_key=real%26key HTTP/1.1',
  );
  expect(lineFor('', 'appid')).toBe('GET /v1?appid=real%26key HTTP/1.1');
});
