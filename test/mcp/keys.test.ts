import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/index.ts';
import { openPeople } from '../../src/people.ts';
import type { Scope } from '../../src/service/index.ts';
import { run } from '../fake-io.ts';
import { type Served, serveMcp } from '../support/mcp.ts';
import { overHttp, PROTOCOLS, type Wishes } from '../support/mcp-clients.ts';
import { EXAMPLES, NO_SANDBOX } from '../support/skillbox.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const temp = tempDirectory();

describe.skipIf(NO_SANDBOX)('skillbox mcp --http with API keys', () => {
  const base = realpathSync(mkdtempSync(join(temp, 'keys-')));
  const [home, data, strange] = [join(base, 'home'), join(base, 'data'), join(base, 'strange')];
  let people: Awaited<ReturnType<typeof openPeople>>;
  let served: Served;
  const named: string[] = [];
  const make = async (scopes: readonly Scope[], isNamed = true) => {
    const { key, secret } = await people.keys.create({ name: 'k', tenant: null, scopes, expiresAt: null });
    if (isNamed) named.push(key.id);
    return { id: key.id, secret };
  };

  beforeAll(async () => {
    mkdirSync(home);
    mkdirSync(data, { mode: 0o700 });
    people = await openPeople(loadConfig({ env: { SKILLBOX_DATA_DIR: data, HOME: home }, role: 'server' }));
    const keys = { callers: people.callers, ids: named };
    writeFiles(join(strange, 'greeter'), {
      'SKILL.md': '---\nname: greeter\nversion: 1.0.0\ndescription: Greets.\nlang: bash\n---\nGreets.\n',
      'scripts/main.sh*': 'echo hello\n',
    });
    served = await serveMcp({ dataDirectory: data, home, dirs: [strange], bundled: [EXAMPLES], keys });
  });
  afterAll(async () => {
    await served.close();
    await people.close();
  });

  test.each(PROTOCOLS)('one that was named is let in with its scopes, until it is revoked (%s)', async protocol => {
    const { id, secret } = await make(['read']);
    const client = await overHttp(served.url, { protocol }, secret);
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toContain('activate_skill');
    expect(names).toContain('file_read');
    for (const name of ['run_skill', 'file_write', 'file_edit', 'copy_skill_file']) expect(names).not.toContain(name);
    expect(await client.callTool({ name: 'run_skill', arguments: { skill: 'word-count' } })).toMatchObject({
      isError: true,
      _meta: { 'skillbox/error': { code: 'FORBIDDEN' } },
    });
    await client.callTool({ name: 'activate_skill', arguments: { name: 'word-count' } });
    const { entries } = await served.skillbox.audit.list(
      { types: ['skill.activated'], subject: null, sinceMs: null, untilMs: null, tenants: null, beforeSeq: null },
      1,
    );
    expect(entries[0]?.data.client).toBe(`mcp:tester key:${id}`);
    await people.keys.revoke(id);
    await expect(client.listTools()).rejects.toThrow(/401|revoked/);
  });

  test.each(PROTOCOLS)('its holder is not asked whether what they started may run (%s)', async protocol => {
    const { secret } = await make(['read', 'run']);
    const asked: string[] = [];
    const answer: Wishes['answer'] = ({ message }) => {
      asked.push(message);
      return { action: 'accept', content: { answer: 'allow' } };
    };
    const client = await overHttp(served.url, { protocol, answer }, secret);
    const waits = await client.callTool({ name: 'run_skill', arguments: { skill: 'greeter' } });
    expect([waits.structuredContent, asked]).toMatchObject([{ status: 'waiting' }, []]);
    // The user themselves is.
    const user = await overHttp(served.url, { protocol, answer });
    const ran = await user.callTool({ name: 'run_skill', arguments: { skill: 'greeter' } });
    expect([ran.structuredContent, asked.length]).toMatchObject([{ status: 'success' }, 1]);
    for (const one of [client, user]) await one.close();
  });

  test.each(PROTOCOLS)('its holder does not choose the folder whose files it is for (%s)', async protocol => {
    const folder = join(base, 'documents');
    writeFiles(folder, { 'plans.txt': 'only for the user' });
    const { secret } = await make(['read']);
    const read = { name: 'file_read', arguments: { path: 'plans.txt' } };
    const client = await overHttp(served.url, { protocol, roots: [folder] }, secret);
    const refused = await client.callTool(read);
    expect(refused.isError).toBe(true);
    expect(JSON.stringify(refused)).not.toContain('only for the user');
    const user = await overHttp(served.url, { protocol, roots: [folder] });
    expect(JSON.stringify(await user.callTool(read))).toContain('only for the user');
    for (const one of [client, user]) await one.close();
  });

  test('one that nobody named opens nothing, whatever its scopes', async () => {
    const { secret } = await make(['read', 'run', 'admin'], false);
    await expect(overHttp(served.url, { protocol: '2025-11-25' }, secret)).rejects.toThrow(/401|not known/);
    const other = await make(['admin', 'approve']);
    await expect(overHttp(served.url, { protocol: '2025-11-25' }, other.secret)).rejects.toThrow(/403|scope/);
  });

  test('the option is for HTTP', async () => {
    const { code, err } = await run(['mcp', '--allow-key', 'x'], {
      cwd: home,
      env: { HOME: home, SKILLBOX_DATA_DIR: data },
    });
    expect([code, err]).toEqual([2, expect.stringContaining('--http')]);
  });
});
