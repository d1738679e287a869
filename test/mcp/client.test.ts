import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { serveMcp } from '../support/mcp.ts';
import { overHttp, overStdio, PROTOCOLS, type ProtocolVersion, type Wishes } from '../support/mcp-clients.ts';
import { allProcesses, commandOf } from '../support/processes.ts';
import { EXAMPLES, NO_SANDBOX } from '../support/skillbox.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const temp = tempDirectory();
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const allow: Wishes['answer'] = () => ({ action: 'accept', content: { answer: 'allow' } });

const TRANSPORTS = ['stdio', 'http'] as const;
type Transport = (typeof TRANSPORTS)[number];

/** Skills of the user's own in `skills`, which they have not run yet; strangers' in `strange`; those of the examples. */
async function start(transport: Transport, wishes: Wishes, workspace: string | null = null) {
  const base = realpathSync(mkdtempSync(join(temp, 'case-')));
  const home = join(base, 'home');
  const [dataDirectory, strange] = [join(base, 'data'), join(base, 'strange')];
  mkdirSync(home);
  mkdirSync(strange);
  writeFiles(join(strange, 'greeter'), {
    'SKILL.md': '---\nname: greeter\nversion: 1.0.0\ndescription: Greets.\nlang: bash\n---\nGreets whoever is named.\n',
    'scripts/main.sh*': 'echo one; sleep 0.3; echo two; sleep 0.3; echo \'{"greeting":"hello"}\' > "$SANDBOX_OUTPUT"\n',
    'references/notes.md': 'A note.\n',
  });
  const client =
    transport === 'stdio'
      ? await overStdio(
          {
            dataDirectory,
            home,
            args: ['--dir', strange, '--dir', EXAMPLES, ...(workspace === null ? [] : ['--workspace', workspace])],
          },
          wishes,
        )
      : await connectHttp({ dataDirectory, home, strange, workspace }, wishes);
  closing.push(() => client.close());
  return { client, strange };
}

type Place = { dataDirectory: string; home: string; strange: string; workspace: string | null };

async function connectHttp({ dataDirectory, home, strange, workspace }: Place, wishes: Wishes): Promise<Client> {
  const served = await serveMcp({ dataDirectory, home, dirs: [strange], bundled: [EXAMPLES], workspace });
  closing.push(() => served.close());
  return overHttp(served.url, wishes);
}

const textOf = (result: CallToolResult): string =>
  result.content.map(block => (block.type === 'text' ? block.text : '')).join('\n');

const call = (client: Client, name: string, args: Record<string, unknown>, options = {}) =>
  client.callTool({ name, arguments: args }, options) as Promise<CallToolResult>;

/** Whether a process with this word in its command line lives on this machine. */
function lives(word: string): boolean {
  return allProcesses().some(pid => commandOf(pid).includes(word));
}

describe.skipIf(NO_SANDBOX).each(TRANSPORTS)('a client over %s', transport => {
  describe.each(PROTOCOLS)('that speaks %s', protocol => {
    test('AS-12: lists, activates, reads and runs', async () => {
      const { client, strange } = await start(transport, { protocol });
      expect(client.getNegotiatedProtocolVersion()).toBe(protocol);
      const { tools } = await client.listTools();
      const named = new Map(tools.map(tool => [tool.name, tool]));
      const own = ['list_skills', 'activate_skill', 'read_skill_resource', 'run_skill', 'get_run', 'copy_skill_file'];
      expect([...own, 'file_read', 'file_write', 'file_edit', 'git_log'].filter(name => !named.has(name))).toEqual([]);
      const property = named.get('activate_skill')?.inputSchema.properties?.name as { enum: string[] };
      expect(property.enum).toContain('greeter');
      expect(named.get('git_log')?.annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
      expect(named.get('run_skill')?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
      const count = { type: 'integer' };
      expect(named.get('git_log')?.inputSchema).toMatchObject({ properties: { count }, additionalProperties: false });

      const listed = await call(client, 'list_skills', { query: 'greets' });
      expect(listed.structuredContent).toMatchObject({ skills: [{ name: 'greeter', trust: 'untrusted' }] });

      const active = await call(client, 'activate_skill', { name: 'greeter' });
      expect(textOf(active)).toContain('<skill_content name="greeter">\nGreets whoever is named.');
      expect(active.content[1]).toMatchObject({ _meta: { 'skillbox/untrusted': true } });

      const read = await call(client, 'read_skill_resource', { skill: 'greeter', path: 'references/notes.md' });
      expect(read.structuredContent).toMatchObject({ text: 'A note.\n', kind: 'reference', untrusted: true });
      const missing = await call(client, 'read_skill_resource', { skill: 'greeter', path: '../../data/trust.json' });
      expect(missing).toMatchObject({ isError: true, _meta: { 'skillbox/error': { code: 'NOT_FOUND' } } });

      const ran = await call(client, 'run_skill', { skill: 'word-count', input: { text: 'a b' } });
      expect(ran.structuredContent).toMatchObject({ status: 'success', output: { words: 2 }, untrusted: true });
      expect(readdirSync(strange)).toEqual(['greeter']);
    });

    test('AS-11: an activation is not repeated where there is a session', async () => {
      const { client, strange } = await start(transport, { protocol });
      const keeps = !(transport === 'http' && protocol === '2026-07-28');
      const activate = async () => (await call(client, 'activate_skill', { name: 'greeter' })).structuredContent;
      expect(await activate()).toMatchObject({ already_active: false });
      // The tokens are those of the text that is given.
      expect(await activate()).toMatchObject({ already_active: keeps, ...(keeps ? { tokens: 0, content: '' } : {}) });
      writeFileSync(
        join(strange, 'greeter/SKILL.md'),
        readFileSync(join(strange, 'greeter/SKILL.md'), 'utf8').replace('Greets whoever', 'Now greets whoever'),
      );
      await vi.waitFor(
        async () => expect(await activate()).toMatchObject({ content: expect.stringContaining('Now') }),
        5000,
      );
    });

    test('is asked to approve, and the run goes on', async () => {
      const asked: string[] = [];
      const answer: Wishes['answer'] = ({ message }) => {
        asked.push(message);
        return { action: 'accept', content: { answer: 'allow' } };
      };
      const { client } = await start(transport, { protocol, answer });
      const ran = await call(client, 'run_skill', { skill: 'greeter' });
      expect(ran.structuredContent).toMatchObject({ status: 'success', output: { greeting: 'hello' } });
      expect(asked).toHaveLength(1);
      expect(asked[0]).toContain('WARNING: nobody vouches for the source of this skill.');
      expect(asked[0]).toContain('Command: bash');
      // Once is once.
      await call(client, 'run_skill', { skill: 'greeter' });
      expect(asked).toHaveLength(2);
    });

    test('is offered the no first, and any other word than the yes is a no', async () => {
      const forms: unknown[] = [];
      const words = ['deny', 'ALLOW', 'yes', ''];
      const answer: Wishes['answer'] = ({ requestedSchema }) => {
        forms.push(requestedSchema);
        return { action: 'accept', content: { answer: words[forms.length - 1] ?? '' } };
      };
      const { client } = await start(transport, { protocol, answer });
      for (const word of words) {
        const result = await call(client, 'run_skill', { skill: 'greeter' });
        expect(result.structuredContent, word).not.toMatchObject({ status: 'success' });
      }
      expect(forms[0]).toMatchObject({ properties: { answer: { enum: ['deny', 'allow'] } }, required: ['answer'] });
    });

    test('that declines has it denied, and one that cancels leaves it waiting', async () => {
      let action: 'decline' | 'cancel' = 'decline';
      const { client } = await start(transport, { protocol, answer: () => ({ action }) });
      const denied = await call(client, 'run_skill', { skill: 'greeter' });
      expect(denied).toMatchObject({ isError: true, structuredContent: { status: 'failed', approval: null } });
      expect(textOf(denied)).toContain('denied');
      action = 'cancel';
      const waiting = await call(client, 'run_skill', { skill: 'greeter' });
      expect(waiting).toMatchObject({ isError: false, structuredContent: { status: 'waiting' } });
    });

    test('that cannot be asked is told what waits, and how a person settles it', async () => {
      const { client } = await start(transport, { protocol });
      const result = await call(client, 'run_skill', { skill: 'greeter' });
      const { run_id: id } = result.structuredContent as { run_id: string };
      expect(result).toMatchObject({ isError: false });
      expect(result.structuredContent).toMatchObject({
        status: 'waiting',
        approval: { id, command: `skillbox approve allow ${id}` },
      });
      expect(textOf(result)).toContain(`skillbox approve allow ${id}`);
      const later = await call(client, 'get_run', { run_id: id });
      expect(later.structuredContent).toMatchObject({ run_id: id, status: 'waiting' });
    });

    test('gets what the run prints while it runs', async () => {
      const { client } = await start(transport, {
        protocol,
        answer: allow,
      });
      const seen: { progress: number; message?: string | undefined }[] = [];
      const onprogress = (progress: { progress: number; message?: string | undefined }) => seen.push(progress);
      await call(client, 'run_skill', { skill: 'greeter' }, { onprogress });
      // The client tells of its own rounds in the same way.
      const lines = seen.filter(({ message }) => !message?.startsWith('Fulfilling'));
      expect(lines.map(({ message }) => message)).toEqual(['one', 'two']);
      expect(lines.map(({ progress }) => progress)).toEqual([1, 2]);
    });

    test('that cancels ends the run', async () => {
      const { client, strange } = await start(transport, {
        protocol,
        answer: allow,
      });
      const mark = `61.${process.pid}${Date.now() % 100_000}`;
      writeFileSync(join(strange, 'greeter/scripts/main.sh'), `exec sleep ${mark}\n`);
      const controller = new AbortController();
      const running = call(client, 'run_skill', { skill: 'greeter' }, { signal: controller.signal });
      running.catch(() => undefined);
      await vi.waitFor(() => expect(lives(mark)).toBe(true), { timeout: 15_000, interval: 50 });
      controller.abort('enough');
      await expect(running).rejects.toThrow();
      await vi.waitFor(() => expect(lives(mark)).toBe(false), { timeout: 8000, interval: 50 });
    });

    // In the protocols of 2025 a connection that is lost does not mean that nobody wants the result.
    test.skipIf(transport === 'http' && protocol === '2025-11-25')('that goes away leaves no run behind', async () => {
      const { client, strange } = await start(transport, { protocol, answer: allow });
      const mark = `62.${process.pid}${Date.now() % 100_000}`;
      writeFileSync(join(strange, 'greeter/scripts/main.sh'), `exec sleep ${mark}\n`);
      call(client, 'run_skill', { skill: 'greeter' }).catch(() => undefined);
      await vi.waitFor(() => expect(lives(mark)).toBe(true), { timeout: 15_000, interval: 50 });
      await client.close();
      await vi.waitFor(() => expect(lives(mark)).toBe(false), { timeout: 8000, interval: 50 });
    });

    test('is told when there are other skills', async () => {
      const changed = vi.fn();
      const { client, strange } = await start(transport, { protocol, onToolsChanged: changed });
      writeFiles(join(strange, 'newcomer'), {
        'SKILL.md': '---\nname: newcomer\ndescription: Came later.\n---\nText.\n',
      });
      await vi.waitFor(() => expect(changed).toHaveBeenCalled(), { timeout: 15_000, interval: 50 });
      const listed = await call(client, 'list_skills', { query: 'came later' });
      expect(listed.structuredContent).toMatchObject({ skills: [{ name: 'newcomer' }] });
      rmSync(join(strange, 'newcomer'), { recursive: true });
      const gone = async () => (await call(client, 'activate_skill', { name: 'newcomer' })).isError;
      await vi.waitFor(async () => expect(await gone()).toBe(true), { timeout: 15_000, interval: 100 });
    });

    test('WS-04: files are those of its roots', async () => {
      const root = realpathSync(mkdtempSync(join(temp, 'root-')));
      const { client } = await start(transport, { protocol, roots: ['/nowhere/at/all', root] });
      const written = await call(client, 'file_write', { path: 'notes/a.md', content: 'one two' });
      expect(written.structuredContent).toMatchObject({ path: 'notes/a.md', bytes: 7, created: true });
      await call(client, 'file_edit', { path: 'notes/a.md', old_text: 'two', new_text: 'three' });
      const read = await call(client, 'file_read', { path: 'notes/a.md' });
      expect(read.structuredContent).toMatchObject({ text: 'one three' });
      expect(readFileSync(join(root, 'notes/a.md'), 'utf8')).toBe('one three');
      const outside = await call(client, 'file_read', { path: '/etc/hosts.conf' });
      expect(outside).toMatchObject({ isError: true, _meta: { 'skillbox/error': { code: 'PATH_OUTSIDE' } } });
    });

    test('WS-04: without roots and without --workspace there are no files', async () => {
      const missing = { isError: true, _meta: { 'skillbox/error': { code: 'WORKSPACE_MISSING' } } };
      const { client } = await start(transport, { protocol });
      expect(await call(client, 'file_read', { path: 'a.md' })).toMatchObject(missing);
      // The home, and what holds it, is not to be worked in, whatever a client says.
      const roots = transport === 'stdio' ? [realpathSync(temp), homedir()] : [homedir(), '/'];
      const other = await start(transport, { protocol, roots });
      expect(await call(other.client, 'file_read', { path: 'a.md' })).toMatchObject(missing);
    });

    test('WS-08: a script works in the named workspace, and an asset is copied there on request', async () => {
      const workspace = realpathSync(mkdtempSync(join(temp, 'work-')));
      const { client, strange } = await start(transport, { protocol, answer: allow }, workspace);
      writeFiles(join(strange, 'filer'), {
        'SKILL.md': '---\nname: filer\ndescription: Works with files.\ntags: files\n---\nText.\n',
        'scripts/make.sh': 'pwd; echo made > made.txt; cat "$1"\n',
        'assets/template.md': '# {{title}}\n',
      });
      await vi.waitFor(
        async () => expect((await call(client, 'activate_skill', { name: 'filer' })).isError).toBe(false),
        5000,
      );
      const read = await call(client, 'read_skill_resource', { skill: 'filer', path: 'assets/template.md' });
      expect(read.structuredContent).toMatchObject({ kind: 'asset', text: null });
      const copied = await call(client, 'copy_skill_file', {
        skill: 'filer',
        path: 'assets/template.md',
        to: 'report.md',
      });
      expect(copied.structuredContent).toMatchObject({ path: 'report.md', created: true });
      const ran = await call(client, 'run_skill', { skill: 'filer', script: 'make.sh', arguments: ['report.md'] });
      expect(ran.structuredContent).toMatchObject({
        status: 'success',
        stdout: expect.stringContaining('# {{title}}'),
      });
      expect(readFileSync(join(workspace, 'made.txt'), 'utf8')).toBe('made\n');
    });
  });
});

test.each(PROTOCOLS)('a result is cut, and says where all of it is (%s)', async (protocol: ProtocolVersion) => {
  const { client, strange } = await start('http', {
    protocol,
    answer: allow,
  });
  writeFileSync(
    join(strange, 'greeter/scripts/main.sh'),
    'for i in $(seq 1 5000); do echo "line $i äöü"; done; echo {} > "$SANDBOX_OUTPUT"\n',
  );
  const ran = await call(client, 'run_skill', { skill: 'greeter' });
  const { stdout, truncated, full_log: log } = ran.structuredContent as Record<string, string>;
  expect(truncated).toBe(true);
  expect(Buffer.byteLength(stdout ?? '')).toBeLessThan(17_000);
  expect(stdout).toMatch(/^line 1 äöü\n.*bytes left out.*line 5000 äöü\n$/s);
  expect(stdout).not.toContain('\ufffd');
  expect(textOf(ran)).toContain(String(log));
});
