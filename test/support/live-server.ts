import { loadConfig } from '../../src/config/index.ts';
import { openServer, type Server } from '../../src/server.ts';
import type { Scope } from '../../src/service/index.ts';
import { tempDir } from './temp.ts';

export type Answered = { status: number; text: string; json: Record<string, unknown>; headers: Headers };
export type Asking = { body?: unknown; headers?: Record<string, string> };

export type LiveServer = {
  url: string;
  data: string;
  /** The first key: it may do everything. */
  root: string;
  /** Its log, as it was written. */
  log: () => string;
  ask(key: string | null, method: string, path: string, asking?: Asking): Promise<Answered>;
  makeTenant(name: string, quotas?: Record<string, number>): Promise<void>;
  /** An admin's doing: each is another holder's. */
  makeKey(tenant: string, scopes: readonly Scope[]): Promise<{ id: string; key: string }>;
  /** As on a signal: what is on the way is answered. False when something was cut off. */
  drain(): Promise<boolean>;
  close(): Promise<void>;
};

/** A whole server on a real port, over a store, a sandbox and HTTP as they are. */
export async function openLiveServer(env: Record<string, string> = {}): Promise<LiveServer> {
  const data = tempDir('live');
  const lines: string[] = [];
  const place = { env: { PATH: process.env.PATH, SKILLBOX_DATA_DIR: data, SKILLBOX_WARM: '0', ...env }, cwd: data };
  const config = loadConfig({ env: place.env, role: 'server', flags: { 'server.port': '0' } });
  const server: Server = await openServer({ config, place, version: '9.9.9', write: line => void lines.push(line) });
  const root = (await server.makeFirstKey()) ?? '';
  const ask: LiveServer['ask'] = async (key, method, path, { body, headers = {} } = {}) => {
    const isBytes = body instanceof Uint8Array;
    const answer = await fetch(`${server.url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'content-type': isBytes ? 'application/zip' : 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isBytes ? Buffer.from(body) : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
    return {
      status: answer.status,
      text,
      json: isJson && text !== '' ? JSON.parse(text) : {},
      headers: answer.headers,
    };
  };
  const made = async (path: string, body: unknown): Promise<Answered> => {
    const answer = await ask(root, 'POST', path, { body });
    if (answer.status !== 201) throw new Error(`${path}: ${answer.text}`);
    return answer;
  };
  return {
    url: server.url,
    data,
    root,
    log: () => lines.join(''),
    ask,
    async makeTenant(name, quotas = {}) {
      await made('/v1/tenants', { name, quotas });
    },
    async makeKey(tenant, scopes) {
      const { key, secret } = (await made('/v1/keys', { name: `of ${tenant}`, tenant, scopes })).json as unknown as {
        key: { id: string };
        secret: string;
      };
      return { id: key.id, key: secret };
    },
    drain: () => server.drain(),
    async close() {
      await server.drain();
      await server.close();
    },
  };
}
