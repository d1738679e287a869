import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buildHelper } from '../../scripts/build-helper.mjs';
import { CATALOG_TOKENS, createLocalDesk, createShelf, type LocalDesk } from '../../src/agent/index.ts';
import { createSkillbox, type Skillbox } from '../../src/app.ts';
import { watchLocalSkills } from '../../src/disclose.ts';
import { skillboxOptions } from '../../src/local.ts';
import { type LoopbackOptions, serveLoopback } from '../../src/loopback.ts';
import { callerOf, createHost, type Host } from '../../src/mcp/index.ts';

export const KEY = 'a-key-for-tests-only-0123456789';

export type Served = {
  url: string;
  skillbox: Skillbox;
  desk: LocalDesk;
  host: Host;
  close(): Promise<void>;
};

export type Serving = {
  dataDirectory: string;
  home: string;
  /** Places that the caller names: shown, and trusted by nobody. */
  dirs: readonly string[];
  /** Places whose skills are vouched for as if they came with Skillbox. */
  bundled?: readonly string[];
  workspace?: string | null;
  workspaceNames?: boolean;
  keys?: LoopbackOptions['keys'];
};

/** A desk in this process, on a Skillbox of its own. */
export async function openDesk({ dataDirectory, home, dirs, bundled = [], workspaceNames = false }: Serving) {
  buildHelper();
  const policy = {
    userPolicy: join(dataDirectory, 'policy.yaml'),
    directory: null,
    bundled,
    own: [join(home, '.skillbox/skills')],
  };
  const env = { HOME: home, SKILLBOX_DATA_DIR: dataDirectory };
  const skillbox = await createSkillbox({ ...skillboxOptions({ env, cwd: home }, 'bubblewrap'), policy });
  const places = { cwd: home, home, named: dirs, configured: [], bundled };
  const watched = watchLocalSkills({ places, dataDirectory, version: 'test', policy }, () => undefined);
  const shelf = createShelf(() => watched.current(), { mode: 'Global', catalogTokens: CATALOG_TOKENS });
  const desk = createLocalDesk({ skillbox, shelf, env: { PATH: process.env.PATH ?? '' }, workspaceNames });
  return { desk, skillbox, watched };
}

/** Our HTTP server in this process. */
export async function serveMcp(serving: Serving): Promise<Served> {
  const { desk, skillbox, watched } = await openDesk(serving);
  const host = createHost({ desk, version: '0.0.0', workspace: serving.workspace ?? null, callerOf });
  const current = () => watched.current();
  const keys = serving.keys ?? null;
  const server = await serveLoopback({ host, desk, current, port: 0, key: KEY, keys, origins: [] });
  return {
    url: server.url,
    skillbox,
    desk,
    host,
    async close() {
      await server.close();
      await host.calls.idle();
      watched.close();
      await skillbox.close();
    },
  };
}

/** For a client that cannot send a key: passes everything on as it is, and adds the key. */
export async function addKey(url: string): Promise<{ url: string; close(): Promise<void> }> {
  const { hostname, port, pathname } = new URL(url);
  const proxy = createServer((req, res) => {
    const headers = { ...req.headers, authorization: `Bearer ${KEY}` };
    const up = request({ host: hostname, port, path: req.url, method: req.method, headers }, answer => {
      res.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(res);
    });
    up.on('error', () => res.destroy());
    res.on('close', () => up.destroy());
    req.pipe(up);
  });
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://localhost:${(proxy.address() as AddressInfo).port}${pathname}`,
    close: async () => {
      proxy.closeAllConnections();
      await new Promise(resolve => proxy.close(resolve));
    },
  };
}
