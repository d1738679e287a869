import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type Client, type ClientOptions, createClient } from '../../src/client/index.ts';
import type { Service, StartRequest } from '../../src/service/index.ts';
import { archiveOf, listening, type Served, serveWorld } from '../api/world.ts';

export const key = 'all';

type Change = (input: Request, go: () => Promise<Response>, count: number) => Promise<Response>;

/** A server for the tests of a file, with three skills before each of them, and clients of it. Call it at the top. */
export function serveClients() {
  let served: Served;
  let url: string;
  let service: Client;
  beforeAll(async () => {
    served = await serveWorld({ heartbeatMs: 20 });
    url = await listening(served.server);
  });
  beforeEach(async () => {
    served.world.fault = null;
    served.world.tenants.clear();
    service = createClient({ url, key, sleep: async () => {} });
    for (const name of ['hello', 'slow-a', 'wait-a']) await push(service, name);
  });
  afterAll(() => served.server.close());
  return {
    get served() {
      return served;
    },
    get url() {
      return url;
    },
    get service() {
      return service;
    },
    /** A client whose network does as the test says, before it reaches the server. */
    through: (change: Change, more: Partial<ClientOptions> = {}) => clientThrough(url, change, more),
  };
}

function clientThrough(url: string, change: Change, more: Partial<ClientOptions>) {
  const requests: Request[] = [];
  const sleeps: number[] = [];
  const client = createClient({
    url,
    key,
    fetch: async (input, init) => {
      const asked = new Request(input, init);
      requests.push(asked.clone());
      return change(asked, () => fetch(asked), requests.length);
    },
    sleep: async ms => void sleeps.push(ms),
    ...more,
  });
  return { client, requests, sleeps };
}

export async function* bytes(...parts: Buffer[]): AsyncGenerator<Uint8Array> {
  yield* parts;
}
export const push = (to: Service, name: string, version = '1.0.0') =>
  to.skills.publish(bytes(archiveOf(name, version)), { tags: [], version: null });
export const request = (skill: string, more: Partial<StartRequest> = {}): StartRequest => ({
  skill,
  version: null,
  target: { kind: 'main' },
  input: null,
  stdin: null,
  env: {},
  timeoutMs: null,
  ...more,
});
export async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of source) found.push(each);
  return found;
}
export const read = async (source: AsyncIterable<Uint8Array>) => Buffer.concat(await all(source)).toString();

export const answer = (status: number, body: object | string, headers: Record<string, string> = {}) =>
  new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers });
export const refusal = (error: string) => ({ error, message: 'm', hint: 'h', details: { a: 1 }, request_id: 'r1' });
