import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import vm from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildClient } from '../../scripts/build-client.mjs';
import { listening, type Served, serveWorld } from '../api/world.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const root = resolve(import.meta.dirname, '../..');
let text: string;
let served: Served;
let url: string;
/** What the page in the browser found. */
const told = Promise.withResolvers<string>();

/** Runs where nothing but the client is: publishes, runs, follows, fetches; the last value is what came of it. */
const STORY = `
  async function* zip() { yield new TextEncoder().encode('skill hello 1.0.0\\n'); }
  const client = createClient({ url: location.origin, key: 'all' });
  const published = await client.skills.publish(zip(), { tags: [], version: null });
  const request = { skill: 'hello', version: null, target: { kind: 'main' }, input: { a: 1 }, stdin: null, env: {}, timeoutMs: null };
  const run = await client.runs.start(request, { idempotencyKey: null });
  let events = 0;
  for await (const event of client.runs.follow(run.id, { offset: 0, signal: null })) events++;
  let bytes = 0;
  for await (const part of (await client.runs.artifact(run.id, null)).content) bytes += part.length;
  const refused = await client.runs.get('nothing').catch(error => error.code);
  const found = JSON.stringify([published.skill.name, run.state, events, bytes, refused]);
`;
const FOUND = '["hello","success",4,19,"NOT_FOUND"]';

beforeAll(async () => {
  text = (await buildClient(root, null)).outputFiles?.[0]?.text ?? '';
  served = await serveWorld(
    {},
    {},
    // A page of the same origin, as a console would be.
    api => {
      const page = `<!doctype html><title>waiting</title><script type="module">${text.replace(/export \{[\s\S]*?\};/, '')}
        const tell = what => fetch('/told?' + new URLSearchParams({ what }));
        try { ${STORY} await tell(found); } catch (error) { await tell(String(error)); }
      </script>`;
      api.get('/page', { config: { scope: 'anyone' }, schema: { hide: true } }, (_request, reply) =>
        reply
          .header('content-security-policy', "default-src 'self'; script-src 'unsafe-inline'")
          .type('text/html')
          .send(page),
      );
      api.get('/told', { config: { scope: 'anyone' }, schema: { hide: true } }, (request, reply) => {
        told.resolve(new URL(request.url, 'http://localhost').searchParams.get('what') ?? '');
        return reply.send('');
      });
    },
  );
  url = await listening(served.server);
});
afterAll(() => served.server.close());

describe('the client as one file', () => {
  it('imports nothing, and names nothing of Node', () => {
    expect(text.length).toBeGreaterThan(10_000);
    expect(text.length).toBeLessThan(80_000);
    expect(text).not.toMatch(/^\s*import\b|\bimport\(|\brequire\(|node:/m);
    expect(text).not.toMatch(/\b(process|Buffer)\s*[.(?[]|\b(__dirname|__filename|setImmediate)\b/);
  });

  it('works where there is nothing of Node', async () => {
    served.world.tenants.clear();
    const web = { fetch, Headers, Request, Response, ReadableStream, Blob, AbortController, AbortSignal, crypto, URL };
    const more = { URLSearchParams, TextDecoder, TextEncoder, setTimeout, clearTimeout, location: { origin: url } };
    const context = vm.createContext({ ...web, ...more });
    const code = `${text.replace(/export \{[\s\S]*?\};/, '')}; (async () => { ${STORY} return found; })()`;
    expect(await (vm.runInContext(code, context) as Promise<string>)).toBe(FOUND);
  });

  const browser = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
  it.skipIf(browser === undefined)(
    'works in a browser',
    async () => {
      served.world.tenants.clear();
      const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', `--user-data-dir=${tempDir('browser')}`];
      const child = spawn(browser ?? '', [...flags, `${url}/page`], { stdio: 'ignore' });
      const ended = once(child, 'exit').then(([code]) => `the browser ended with ${code}`);
      try {
        expect(await Promise.race([told.promise, ended])).toBe(FOUND);
      } finally {
        child.kill();
        await ended;
      }
    },
    90_000,
  );
});
