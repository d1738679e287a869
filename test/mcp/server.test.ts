import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Scope } from '../../src/service/index.ts';
import { makeZip } from '../skill/make-zip.ts';
import { type LiveServer, openLiveServer } from '../support/live-server.ts';
import { overHttp, PROTOCOLS, type ProtocolVersion, type Wishes } from '../support/mcp-clients.ts';
import { askingZip, zipOf } from '../support/service.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';

const counts = zipOf({
  name: 'count-words',
  lang: 'bash',
  body: 'echo counting; echo \'{"words":2}\' > "$SANDBOX_OUTPUT"\n',
});
const sleeps = zipOf({ name: 'sleeps', body: 'echo begun; sleep 600\n' });
const guide = makeZip([
  { name: 'SKILL.md', content: '---\nname: guide\ndescription: Explains the house style.\n---\nWrite plainly.\n' },
  { name: 'references/notes.md', content: 'A note.\n' },
]);
const shy = makeZip([
  {
    name: 'SKILL.md',
    content: '---\nname: shy\ndescription: Hidden.\ndisable-model-invocation: true\n---\nSecret text.\n',
  },
]);

describe.skipIf(NO_SANDBOX)('skillbox serve speaks MCP', { timeout: 60_000 }, () => {
  let live: LiveServer;
  const closing: (() => Promise<void>)[] = [];
  const publish = async (tenant: string, ...zips: Buffer[]) => {
    const { key } = await live.makeKey(tenant, ['publish']);
    for (const body of zips) {
      const version = body === guide || body === shy ? '?version=1.0.0' : '';
      const answer = await live.ask(key, 'POST', `/v1/skills${version}`, { body });
      expect(answer.status, answer.text).toBe(201);
    }
  };
  const connect = async (key: string, wishes: Wishes): Promise<Client> => {
    const client = await overHttp(`${live.url}/mcp`, wishes, key);
    closing.push(() => client.close().catch(() => undefined));
    return client;
  };
  const open = async (tenant: string, scopes: readonly Scope[], wishes: Wishes) => {
    const made = await live.makeKey(tenant, scopes);
    return { ...made, client: await connect(made.key, wishes) };
  };
  const call = (client: Client, name: string, args: Record<string, unknown> = {}): Promise<CallToolResult> =>
    client.callTool({ name, arguments: args }) as Promise<CallToolResult>;
  const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

  beforeAll(async () => {
    live = await openLiveServer();
    for (const tenant of ['alpha', 'beta', 'gamma']) await live.makeTenant(tenant);
    await publish('alpha', counts, sleeps, guide, shy, askingZip('asker'));
    await publish('beta', zipOf({ name: 'theirs', body: 'echo {} > "$SANDBOX_OUTPUT"' }));
  }, 60_000);
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });
  afterAll(() => live?.close());

  describe.each(PROTOCOLS)('to a client of %s', (protocol: ProtocolVersion) => {
    test('AS-12: lists, activates, reads, runs; and has no files of the server', async () => {
      const { client, id } = await open('alpha', ['read', 'run'], { protocol, roots: ['/'] });
      expect(await names(client)).toEqual([
        'list_skills',
        'activate_skill',
        'read_skill_resource',
        'run_skill',
        'get_run',
        'say',
      ]);
      const listed = await call(client, 'list_skills');
      const skills = (listed.structuredContent as { skills: { name: string; location: string }[] }).skills;
      expect(skills.map(({ name }) => name)).toEqual(['asker', 'count-words', 'guide', 'sleeps']);
      expect(JSON.stringify(listed)).not.toContain(live.data);
      expect((await call(client, 'list_skills', { query: 'house style' })).structuredContent).toMatchObject({
        skills: [{ name: 'guide' }],
      });

      const active = await call(client, 'activate_skill', { name: 'guide' });
      expect(active.structuredContent).toMatchObject({
        already_active: false,
        files: [{ path: 'references/notes.md' }],
      });
      expect(JSON.stringify(active.content)).toContain('Write plainly.');
      const again = await call(client, 'activate_skill', { name: 'guide' });
      expect(again.structuredContent).toMatchObject({ already_active: protocol === '2025-11-25' });

      const read = await call(client, 'read_skill_resource', { skill: 'guide', path: 'references/notes.md' });
      expect(read.structuredContent).toMatchObject({ text: 'A note.\n', kind: 'reference', untrusted: true });
      const outside = await call(client, 'read_skill_resource', { skill: 'guide', path: '../../../etc/passwd' });
      expect(outside).toMatchObject({ isError: true, _meta: { 'skillbox/error': { code: 'NOT_FOUND' } } });

      const told: string[] = [];
      const ran = (await client.callTool(
        { name: 'run_skill', arguments: { skill: 'count-words', input: { text: 'a b' } } },
        { onprogress: ({ message }) => told.push(message ?? '') },
      )) as CallToolResult;
      expect(ran.structuredContent).toMatchObject({ status: 'success', output: { words: 2 }, untrusted: true });
      expect(told.join('\n')).toContain('counting');
      expect(JSON.stringify(ran)).not.toContain(live.data);

      // Recorded as the tenant's, under the key that asked.
      const run = String((ran.structuredContent as { run_id: string }).run_id);
      const { key } = await live.makeKey('alpha', ['read']);
      expect((await live.ask(key, 'GET', `/v1/executions/${run}`)).json).toMatchObject({ by: id });
      const audit = await live.ask(key, 'GET', '/v1/audit?limit=500');
      const entries = (audit.json as unknown as { items: { type: string; subject: string; actor: { id: string } }[] })
        .items;
      expect(entries).toContainEqual(
        expect.objectContaining({ type: 'skill.activated', subject: 'guide', actor: expect.objectContaining({ id }) }),
      );
    });

    test('what is hidden from models is neither listed, read nor run', async () => {
      const { client } = await open('alpha', ['read', 'run'], { protocol });
      // Who is told no names is held to them all the same.
      const blind = await open('alpha', ['run'], { protocol });
      expect(await call(blind.client, 'run_skill', { skill: 'shy' })).toMatchObject({
        isError: true,
        _meta: { 'skillbox/error': { code: 'NOT_FOUND' } },
      });
      for (const [name, args] of [
        ['activate_skill', { name: 'shy' }],
        ['read_skill_resource', { skill: 'shy', path: 'SKILL.md' }],
        ['run_skill', { skill: 'shy' }],
      ] as const)
        expect(await call(client, name, args)).toMatchObject({
          isError: true,
          _meta: { 'skillbox/error': { code: 'NOT_FOUND' } },
        });
    });

    test('two tenants cannot see each other', async () => {
      const alpha = await open('alpha', ['read', 'run'], { protocol });
      const beta = await open('beta', ['read', 'run'], { protocol });
      expect(JSON.stringify(await beta.client.listTools())).not.toContain('count-words');
      expect(JSON.stringify(await call(beta.client, 'list_skills'))).toContain('theirs');
      expect(JSON.stringify(await call(alpha.client, 'list_skills'))).not.toContain('theirs');
      const ran = await call(alpha.client, 'run_skill', { skill: 'count-words' });
      const { run_id } = ran.structuredContent as { run_id: string };
      expect(await call(alpha.client, 'get_run', { run_id })).toMatchObject({ isError: false });
      for (const [name, args] of [
        ['get_run', { run_id }],
        ['run_skill', { skill: 'count-words' }],
        ['activate_skill', { name: 'guide' }],
        ['read_skill_resource', { skill: 'guide', path: 'SKILL.md' }],
      ] as const)
        expect(await call(beta.client, name, args)).toMatchObject({ isError: true });
      const unknown = () => call(beta.client, 'say', { word: 'hi' });
      await expect(unknown()).rejects.toThrow('Unknown tool');
    });

    test('a key sees and calls what its scopes are for', async () => {
      const reader = await open('alpha', ['read'], { protocol });
      expect(await names(reader.client)).toEqual(['list_skills', 'activate_skill', 'read_skill_resource', 'get_run']);
      const refused = { isError: true, _meta: { 'skillbox/error': { code: 'FORBIDDEN' } } };
      expect(await call(reader.client, 'run_skill', { skill: 'count-words' })).toMatchObject(refused);
      expect(await call(reader.client, 'say', { word: 'hi' })).toMatchObject(refused);

      const runner = await open('alpha', ['run'], { protocol });
      const { tools } = await runner.client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(['run_skill']);
      expect(JSON.stringify(tools)).not.toContain('count-words');
      expect(await call(runner.client, 'list_skills')).toMatchObject(refused);
      expect(await call(runner.client, 'activate_skill', { name: 'guide' })).toMatchObject(refused);
      expect((await runner.client.listResources()).resources).toEqual([]);
      expect((await call(runner.client, 'run_skill', { skill: 'count-words' })).structuredContent).toMatchObject({
        status: 'success',
      });
      // Neither of them: there is nothing for such a key.
      const { key } = await live.makeKey('alpha', ['approve', 'publish', 'admin']);
      await expect(overHttp(`${live.url}/mcp`, { protocol }, key)).rejects.toThrow(/403|scope/);
    });

    test('a question is put to nobody through the client that asked; another key answers it', async () => {
      const asked: string[] = [];
      const answer: Wishes['answer'] = ({ message }) => {
        asked.push(message);
        return { action: 'accept', content: { answer: 'allow' } };
      };
      const { client } = await open('alpha', ['read', 'run', 'approve'], { protocol, answer });
      const waits = await call(client, 'say', { word: 'hello' });
      const told = waits.structuredContent as { run_id: string; approval: { id: string } };
      expect(waits).toMatchObject({ isError: false, structuredContent: { status: 'waiting' } });
      expect(told.approval.id).toBe(told.run_id);
      expect(asked).toEqual([]);
      const other = await live.makeKey('alpha', ['approve']);
      const answered = await live.ask(other.key, 'POST', `/v1/approvals/${told.run_id}`, { body: { answer: 'once' } });
      expect(answered.status, answered.text).toBe(200);
      await vi.waitFor(async () => {
        const got = await call(client, 'get_run', { run_id: told.run_id });
        expect(got.structuredContent).toMatchObject({ status: 'success' });
        expect(JSON.stringify(got.content)).toContain('hello');
      }, 20_000);
    });

    test('a call that is cancelled ends its run', async () => {
      const { client } = await open('alpha', ['read', 'run'], { protocol });
      const { key } = await live.makeKey('alpha', ['read']);
      const running = async () => {
        const { json } = await live.ask(key, 'GET', '/v1/executions?skill=sleeps&state=running');
        return (json as unknown as { items: { execution_id: string }[] }).items.map(item => item.execution_id);
      };
      const control = new AbortController();
      const call = client.callTool({ name: 'run_skill', arguments: { skill: 'sleeps' } }, { signal: control.signal });
      call.catch(() => undefined);
      await vi.waitFor(async () => expect(await running()).toHaveLength(1), 20_000);
      control.abort();
      await expect(call).rejects.toThrow();
      await vi.waitFor(async () => expect(await running()).toHaveLength(0), 20_000);
    });

    test('is told when skills were published, and only by its own tenant', async () => {
      let [alpha, beta] = [0, 0];
      await open('alpha', ['read'], { protocol, onToolsChanged: () => alpha++ });
      const { client } = await open('beta', ['read'], { protocol, onToolsChanged: () => beta++ });
      await call(client, 'list_skills');
      await new Promise(resolve => setTimeout(resolve, 1000));
      const name = `new-${protocol}`;
      await publish('beta', zipOf({ name, body: 'echo' }));
      await vi.waitFor(() => expect(beta).toBe(1), 10_000);
      expect(JSON.stringify(await call(client, 'list_skills'))).toContain(name);
      expect(alpha).toBe(0);
    });

    test('a revoked key is out at once: its calls, its streams and its sessions', async () => {
      const { client, id, key } = await open('alpha', ['read', 'run'], { protocol, onToolsChanged: () => undefined });
      const going = call(client, 'run_skill', { skill: 'sleeps' });
      going.catch(() => undefined);
      const reader = await live.makeKey('alpha', ['read']);
      const running = async () => {
        const { json } = await live.ask(reader.key, 'GET', '/v1/executions?skill=sleeps&state=running');
        return (json as unknown as { items: unknown[] }).items.length;
      };
      await vi.waitFor(async () => expect(await running()).toBe(1), 20_000);
      expect((await live.ask(live.root, 'DELETE', `/v1/keys/${id}`)).status).toBe(200);
      // A client of 2025 goes on waiting for what was cut off; there is nothing to wait for.
      if (protocol === '2026-07-28') {
        // Well before it is asked again, five seconds on, whether the key is still good.
        const late = new Promise((_resolve, reject) => setTimeout(() => reject(new Error('late')), 4000));
        await expect(Promise.race([going, late])).rejects.toThrow(/^(?!late)/);
      }
      await vi.waitFor(async () => expect(await running()).toBe(0), 20_000);
      await expect(call(client, 'list_skills')).rejects.toThrow(/401|revoked/);
      await expect(overHttp(`${live.url}/mcp`, { protocol }, key)).rejects.toThrow();
    });
  });

  test("GB-20: what a tool's author says of it is in its annotations", async () => {
    const toolOf = (name: string, readOnly: boolean) => {
      const command = '```bash\necho\n```';
      const head = `name: ${name}\nversion: 1.0.0\ndescription: D.\nread_only: ${readOnly}`;
      const content = `---\n${head}\n---\n### ${name}_it\n\nD.\n\n#### Command\n\n${command}\n`;
      return makeZip([{ name: 'SKILL.md', content }]);
    };
    await publish('gamma', toolOf('looks', true), toolOf('writes', false));
    const { client } = await open('gamma', ['read', 'run'], { protocol: '2026-07-28' });
    const { tools } = await client.listTools();
    const hintsOf = (name: string) => tools.find(one => one.name === name)?.annotations;
    expect(hintsOf('looks_it')).toMatchObject({ readOnlyHint: true, destructiveHint: false });
    expect(hintsOf('writes_it')).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    const reader = await live.makeKey('gamma', ['read']);
    const { json } = await live.ask(reader.key, 'GET', '/v1/skills/looks/1.0.0/tools');
    expect(json).toMatchObject({ tools: [{ read_only: true, always_ask: false }] });
  });

  test('skills over MCP: files with their digests, of the tenant only', async () => {
    const { client } = await open('alpha', ['read'], { protocol: '2026-07-28' });
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toContain('skill://guide/SKILL.md');
    const read = await client.readResource({ uri: 'skill://guide/SKILL.md' });
    expect(JSON.stringify(read)).toContain('Write plainly.');
    const other = await open('beta', ['read'], { protocol: '2026-07-28' });
    await expect(other.client.readResource({ uri: 'skill://guide/SKILL.md' })).rejects.toThrow();
  });

  test('the log has a line for each request, with tenant and key, and nothing of what was said', async () => {
    const { client, id } = await open('alpha', ['read'], { protocol: '2026-07-28' });
    await call(client, 'list_skills', { query: 'something-private' });
    const lines = live
      .log()
      .split('\n')
      .filter(line => line.includes('"route":"/mcp"') && line.includes(id));
    expect(lines.length).toBeGreaterThan(0);
    expect(live.log()).not.toContain('something-private');
    expect((await live.ask(live.root, 'GET', '/metrics')).text).toContain('route="/mcp"');
    expect((await live.ask(null, 'GET', '/openapi.json')).text).toContain('"/mcp"');
  });

  test('it can be switched off', async () => {
    const off = await openLiveServer({ SKILLBOX_SERVER_MCP: 'no' });
    try {
      const { key } = await off.makeKey('default', ['read']);
      expect((await off.ask(key, 'POST', '/mcp', { body: {} })).status).toBe(404);
    } finally {
      await off.close();
    }
  });

  test.each(PROTOCOLS)(
    'a server that stops ends streams, answers what is on the way, and takes no more (%s)',
    async protocol => {
      const short = await openLiveServer({ SKILLBOX_RUNS_DRAIN_DEADLINE: '20s' });
      const { key } = await short.makeKey('default', ['read', 'run', 'publish']);
      const body = zipOf({ name: 'slow', body: 'sleep 2; echo \'{"done":true}\' > "$SANDBOX_OUTPUT"\n' });
      expect((await short.ask(key, 'POST', '/v1/skills', { body })).status).toBe(201);
      const client = await overHttp(`${short.url}/mcp`, { protocol, onToolsChanged: () => undefined }, key);
      const going = call(client, 'run_skill', { skill: 'slow' });
      await vi.waitFor(async () => {
        const { json } = await short.ask(key, 'GET', '/v1/executions?state=running');
        expect((json as unknown as { items: unknown[] }).items).toHaveLength(1);
      }, 20_000);
      const drained = short.drain();
      expect((await going).structuredContent).toMatchObject({ status: 'success', output: { done: true } });
      expect(await drained).toBe(true);
      await client.close().catch(() => undefined);
      await short.close();
    },
  );
});
