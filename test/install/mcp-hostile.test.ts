import { existsSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { FETCH_LIMITS, type FetchLimits, obtain, parseSource } from '../../src/install/index.ts';
import { readEntry } from '../../src/install/mcp-entry.ts';
import { countingFetch } from '../../src/install/mcp-fetch.ts';
import { run } from '../fake-io.ts';
import { skillText } from '../support/git.ts';
import { type Entry, type Resource, SkillsServer, sha256 } from '../support/skills-server.ts';
import { tempDirectory } from '../temp.ts';

const base = tempDirectory();
const server = new SkillsServer();
let count = 0;

beforeAll(() => server.start());
afterAll(() => server.stop());
beforeEach(() => server.reset());

const source = () => `mcp+${server.url}`;
const SKILL = 'skill://pdf/SKILL.md';
const FORMS = 'skill://pdf/references/FORMS.md';
const FILES = { 'SKILL.md': skillText('pdf'), 'references/FORMS.md': 'Forms.\n' };

type Failure = { error: string; message: string; hint: string };

/** Tries to install from the server as it is; what was written is seen, whatever was said. */
async function tryAdd(...words: string[]): Promise<Failure> {
  const at = join(base, String(++count));
  const project = join(at, 'project');
  mkdirSync(join(project, '.git'), { recursive: true });
  mkdirSync(join(at, 'home'));
  const env = { HOME: join(at, 'home'), SKILLBOX_DATA_DIR: join(at, 'data') };
  const ran = await run(['add', source(), '--yes', '--json', ...words], { cwd: project, env });
  expect(ran.code).not.toBe(0);
  expect(existsSync(join(project, 'skills.lock'))).toBe(false);
  expect(existsSync(join(project, '.skillbox/skills'))).toBe(false);
  return JSON.parse(ran.out) as Failure;
}

const resourcesOf = (entry: Entry) => entry.resources as Resource[];

describe('what a server gives is what it listed', () => {
  test('SKILL.md of another digest: refused, and nothing else is asked for', async () => {
    server.serve('pdf', FILES);
    server.contents.set(SKILL, FILES['SKILL.md'].replace('Count.', 'C0unt.'));
    expect(await tryAdd()).toMatchObject({
      error: 'SOURCE_REFUSED',
      message: expect.stringContaining('another digest'),
    });
    expect(server.reads()).toEqual([SKILL]);
  });

  test('another length', async () => {
    server.serve('pdf', FILES);
    server.contents.set(SKILL, `${FILES['SKILL.md']}more`);
    expect(await tryAdd()).toMatchObject({
      error: 'SOURCE_REFUSED',
      message: expect.stringContaining('another length'),
    });
    expect(server.reads()).toEqual([SKILL]);
  });

  test('a supporting file that changed between the list and the reading', async () => {
    server.serve('pdf', FILES);
    server.on.set('resources/read', ({ uri }, usual) => {
      if (uri === SKILL) server.contents.set(FORMS, 'Evils.\n');
      return usual();
    });
    expect(await tryAdd()).toMatchObject({ error: 'SOURCE_REFUSED', message: expect.stringContaining(FORMS) });
  });

  test.each([
    ['another description', { name: 'pdf', description: 'Harmless.' }],
    [
      'a field more in the list',
      { name: 'pdf', description: 'Does pdf. Use when asked for pdf.', 'allowed-tools': 'Bash' },
    ],
  ])('frontmatter with %s', async (_what, frontmatter) => {
    server.serve('pdf', FILES).frontmatter = frontmatter;
    const failure = await tryAdd();
    expect(failure).toMatchObject({ error: 'SOURCE_REFUSED', message: expect.stringContaining('another frontmatter') });
    expect(server.reads()).toEqual([SKILL]);
  });

  test('a field that the list leaves out', async () => {
    const body = skillText('pdf', { fields: 'allowed-tools: Bash\n' });
    server.serve('pdf', { ...FILES, 'SKILL.md': body });
    expect(await tryAdd()).toMatchObject({ message: expect.stringContaining('allowed-tools') });
  });

  test('frontmatter in a form of YAML that is not the simplest is compared all the same', async () => {
    const body = '---\nname: pdf\ndescription: "folded\n  text"\nmetadata: {a: "1"}\n---\nDo.\n';
    server.serve('pdf', { 'SKILL.md': body }).frontmatter = {
      name: 'pdf',
      description: 'folded text',
      metadata: { a: '1' },
    };
    const obtained = await obtain(parseSource(source(), '/'));
    expect((await obtained.offers[0]?.load())?.reading.skill?.name).toBe('pdf');
    await obtained.close();
  });

  test('skills/get that tells another story than skills/list', async () => {
    const entry = server.serve('pdf', FILES);
    server.on.set('skills/get', () => ({ skill: { ...entry, frontmatter: { name: 'pdf', description: 'Other.' } } }));
    const obtained = await obtain(parseSource(`${source()}#${SKILL}`, '/'));
    await expect(obtained.offers[0]?.load()).rejects.toMatchObject({ code: 'SOURCE_REFUSED' });
    await obtained.close();
    server.on.set('skills/get', () => ({ skill: { ...entry, uri: 'skill://b/pdf/SKILL.md' } }));
    await expect(obtain(parseSource(`${source()}#${SKILL}`, '/'))).rejects.toMatchObject({ code: 'SOURCE_FAILED' });
  });

  test('the contents of another file', async () => {
    server.serve('pdf', FILES);
    server.on.set('resources/read', () => ({ contents: [{ uri: FORMS, text: 'Forms.\n' }] }));
    expect(await tryAdd()).toMatchObject({ error: 'SOURCE_FAILED' });
  });

  test('the lock holds the whole set: one file more, and it is another', async () => {
    server.serve('pdf', FILES);
    const at = join(base, String(++count));
    mkdirSync(join(at, 'project/.git'), { recursive: true });
    const env = { HOME: at, SKILLBOX_DATA_DIR: join(at, 'data') };
    const cli = (...words: string[]) => run([...words, '--json'], { cwd: join(at, 'project'), env });
    // A file that is left out of every installation is still part of what was approved.
    server.serve('pdf', { ...FILES, '.env': 'A=1\n' });
    expect((await cli('add', source(), '--yes')).code).toBe(0);
    expect(existsSync(join(at, 'project/.skillbox/skills/pdf/.env'))).toBe(false);
    expect((await cli('outdated')).code).toBe(0);
    server.serve('pdf', { ...FILES, '.env': 'A=2\n' });
    expect((await cli('outdated')).code).toBe(1);
  });
});

describe('what is listed', () => {
  const PATHS: [string, string][] = [
    ['steps out of the skill', 'skill://pdf/../evil/x.md'],
    ['encoded steps', 'skill://pdf/%2e%2e/%2e%2e/evil.md'],
    ['an encoded separator', 'skill://pdf/a%2f..%2f..%2fevil.md'],
    ['a separator of Windows', 'skill://pdf/..%5c..%5cevil.md'],
    ['a file of another skill', 'skill://other/x.md'],
    ['a name that only begins like it', 'skill://pdf-evil/x.md'],
    ['a NUL', 'skill://pdf/a%00.md'],
    ['a line break', 'skill://pdf/a%0ab.md'],
    ['a device of Windows', 'skill://pdf/con'],
    ['a hidden character', 'skill://pdf/a%E2%80%AEb.md'],
    ['a query', 'skill://pdf/a.md?x'],
    ['a file of this machine', 'file:///etc/passwd'],
    ['a broken encoding', 'skill://pdf/%zz'],
    ['a file below a file', 'skill://pdf/SKILL.md/x'],
  ];

  test.each(PATHS)('%s is refused before anything is read', async (_what, uri) => {
    const entry = server.serve('pdf', FILES);
    resourcesOf(entry).push({ uri, digest: sha256('x'), size: 1 });
    server.contents.set(uri, 'x');
    expect((await tryAdd('--skill', 'pdf')).error).toMatch(/^(?:SOURCE_REFUSED|NOT_FOUND)$/);
    expect(server.reads()).toEqual([]);
  });

  test('the same file twice, in two spellings', async () => {
    const entry = server.serve('pdf', { ...FILES, 'a&b.md': 'x' });
    resourcesOf(entry).push({ uri: 'skill://pdf/a&b.md', digest: sha256('y'), size: 1 });
    expect((await tryAdd('--all')).error).toBe('SOURCE_REFUSED');
    expect(server.reads()).toEqual([]);
  });

  test.each([
    ['made anew each time', (entry: Entry) => Object.assign(entry, { resources: 'dynamic' }), 'no bytes that a lock'],
    [
      'more than 512 files',
      (entry: Entry) => {
        for (let at = 0; at < 511; at++)
          resourcesOf(entry).push({ uri: `skill://pdf/${at}`, digest: sha256(''), size: 0 });
      },
      '513 files',
    ],
    [
      'more than 16 MiB',
      (entry: Entry) => resourcesOf(entry).push({ uri: 'skill://pdf/big', digest: sha256(''), size: 16 * 1024 ** 2 }),
      'are the limit',
    ],
  ])('%s: refused with the reason, and nothing is read', async (_what, change, reason) => {
    change(server.serve('pdf', FILES));
    expect(await tryAdd('--skill', 'pdf')).toMatchObject({
      error: 'SOURCE_REFUSED',
      message: expect.stringContaining(reason),
    });
    expect(server.reads()).toEqual([]);
  });

  test('one bad entry does not hide the others', async () => {
    server.serve('pdf', FILES);
    server.entries.push({
      uri: 'skill://x/SKILL.md',
      frontmatter: { name: '../../evil', description: 'x' },
      resources: [],
    });
    const obtained = await obtain(parseSource(source(), '/'));
    const { offers } = obtained;
    expect(offers.map(({ name }) => name)).toEqual(['pdf', null]);
    await expect(offers[1]?.load()).rejects.toMatchObject({ code: 'SOURCE_REFUSED' });
    await obtained.close();
  });

  test('our own look at an entry needs no other before it', () => {
    const resources = [SKILL, 'skill://other/x.md'].map(uri => ({ uri, digest: sha256('a'), size: 1 }));
    const frontmatter = { name: 'pdf', description: 'x' };
    expect(() => readEntry({ uri: SKILL, frontmatter, resources })).toThrow('which is no file of it');
  });

  test('names of files stay in the folder, whatever is listed', () => {
    const part = fc.oneof(
      fc.constantFrom('..', '.', '', '%2e%2e', '%2f', '%5c', 'a', 'SKILL.md', '%00', 'con', 'a%2fb', '\\', '%e2%80%ae'),
      fc.string({ maxLength: 6 }),
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), parts => {
        const uri = `skill://pdf/${parts.join('/')}`;
        const resources = [
          { uri: SKILL, digest: sha256('a'), size: 1 },
          { uri, digest: sha256('b'), size: 1 },
        ];
        try {
          const { files } = readEntry({ uri: SKILL, frontmatter: { name: 'pdf', description: 'x' }, resources });
          for (const { path } of files) expect(join('/root/skill', path).startsWith('/root/skill/')).toBe(true);
        } catch (cause) {
          expect(cause).toMatchObject({ code: 'SOURCE_REFUSED' });
        }
      }),
    );
  });
});

describe('a server that wears others out', () => {
  const limits = (changes: Partial<FetchLimits>): FetchLimits => ({ ...FETCH_LIMITS, ...changes });
  const open = (changes: Partial<FetchLimits>) => obtain(parseSource(source(), '/'), null, limits(changes));

  test('a list without end', async () => {
    server.serve('pdf', FILES);
    let page = 0;
    server.on.set('skills/list', () => ({ skills: [], nextCursor: String(++page) }));
    await expect(open({})).rejects.toMatchObject({ code: 'SOURCE_FAILED', message: expect.stringContaining('list') });
    expect(page).toBeLessThan(300);
  });

  test('a list beyond measure', async () => {
    const entry = server.serve('pdf', FILES);
    server.on.set('skills/list', () => ({
      skills: Array.from({ length: 11_000 }, (_, at) => ({ ...entry, uri: `skill://${at}/pdf/SKILL.md` })),
    }));
    await expect(open({})).rejects.toMatchObject({ message: expect.stringContaining('more than 10000 skills') });
  });

  test('an answer beyond measure breaks off', async () => {
    server.serve('pdf', FILES);
    server.on.set('skills/list', (_params, usual) => ({ ...(usual() as object), padding: 'x'.repeat(3 * 1024 ** 2) }));
    await expect(open({ maxBytes: 1024 ** 2 })).rejects.toMatchObject({
      message: expect.stringContaining('more than 1 MiB'),
    });
  });

  test('one answer has a bound of its own', async () => {
    const stopped: unknown[] = [];
    const fetching = countingFetch({ perAnswer: 10, inAll: 1024 ** 2 }, why => stopped.push(why));
    const answer = await fetching(server.url, { method: 'POST', body: '{"id":1,"method":"skills/list"}' });
    await expect(answer.text()).rejects.toMatchObject({ code: 'SOURCE_FAILED' });
    expect(stopped).toHaveLength(1);
  });

  test('a stream of words instead of an answer', async () => {
    let sent = 0;
    server.raw = (_request, answer, body) => {
      if (!body.includes('skills/list')) return false;
      answer.writeHead(200, { 'content-type': 'text/event-stream' });
      const more = () => {
        while (
          sent++ < 100_000 &&
          answer.write(`data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n`)
        );
        if (!answer.destroyed) answer.once('drain', more);
      };
      more();
      return true;
    };
    await expect(open({ maxBytes: 1024 ** 2 })).rejects.toMatchObject({ code: 'SOURCE_FAILED' });
  });

  test.each(['initialize', 'skills/list'])('one that never answers to %s', async method => {
    server.on.set(method, () => new Promise(() => undefined));
    await expect(open({ timeoutMs: 300 })).rejects.toMatchObject({
      message: expect.stringContaining('took longer than 0.3'),
    });
  });

  test('one that gives its files a little late each: the whole has an end', async () => {
    const files = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`references/${at}.md`, 'x']));
    server.serve('pdf', { ...FILES, ...files });
    server.on.set('resources/read', async (_params, usual) => {
      await new Promise(resolve => setTimeout(resolve, 100));
      return usual();
    });
    const obtained = await open({ timeoutMs: 600 });
    await expect(obtained.offers[0]?.load()).rejects.toMatchObject({ message: expect.stringContaining('took longer') });
    expect(server.reads().length).toBeLessThan(20);
    await obtained.close();
  });

  test('a person who has had enough', async () => {
    server.on.set('skills/list', () => new Promise(() => undefined));
    const controller = new AbortController();
    const opening = open({ signal: controller.signal });
    setTimeout(() => controller.abort(), 200);
    await expect(opening).rejects.toMatchObject({ code: 'CANCELED' });
  });

  test('a redirect to another host is not followed, and no key goes there', async () => {
    const heard: string[] = [];
    const other = createServer((request, answer) => {
      heard.push(request.headers.authorization ?? 'none');
      answer.end('{}');
    });
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve));
    const target = `http://127.0.0.1:${(other.address() as AddressInfo).port}/mcp`;
    server.raw = (_request, answer) => answer.writeHead(307, { location: target }).end() && true;
    await expect(open({ keyFor: () => 'the-key' })).rejects.toMatchObject({ code: 'SOURCE_FAILED' });
    expect(heard).toEqual([]);
    await new Promise(resolve => other.close(resolve));
  });

  test('one that is no MCP server, one without skills, and one that is not there', async () => {
    server.raw = (_request, answer) => answer.writeHead(200, { 'content-type': 'text/html' }).end('<html>') && true;
    await expect(open({})).rejects.toMatchObject({ code: 'SOURCE_FAILED' });
    server.raw = null;
    server.on.set('initialize', ({ protocolVersion }) => ({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'x', version: '1' },
    }));
    await expect(open({})).rejects.toMatchObject({ code: 'SOURCE_UNSUPPORTED' });
    await expect(obtain(parseSource('mcp+http://127.0.0.1:1/mcp', '/'))).rejects.toMatchObject({
      code: 'SOURCE_FAILED',
    });
  });

  test('what it says is shown without its control characters', async () => {
    server.raw = (_request, answer, body) => {
      const { id } = JSON.parse(body || '{}') as { id?: number };
      const error = { code: -32000, message: '\u001b[2J\u202Egnihton' };
      answer.writeHead(200, { 'content-type': 'application/json' });
      return answer.end(JSON.stringify({ jsonrpc: '2.0', id, error })) && true;
    };
    const failure = await tryAdd();
    expect(failure.message).toContain('could not connect');
    expect(failure.message).not.toMatch(/[\u001b\u202e]/);
  });
});

describe('the word for a server', () => {
  test.each([
    ['mcp+http://example.org/mcp', 'is not encrypted'],
    ['mcp+https://user:pass@example.org/mcp', 'password'],
    ['mcp+https://example.org/mcp?key=x', 'SKILLBOX_MCP_KEYS'],
    ['mcp+https://example.org/mcp#nothing', 'no address of a skill'],
    ['mcp+https://example.org/mcp#skill://a b/SKILL.md', 'no address of a skill'],
    ['mcp+ssh://example.org', 'no MCP server'],
    ['mcp+file:///etc', 'no MCP server'],
    ['mcp:acme', 'no MCP server'],
    ['mcp+stdio:', 'names no program'],
    ['mcp+stdio:a\nb', 'control character'],
  ])('%s is refused', (word, reason) => {
    expect(() => parseSource(word, '/')).toThrow(reason);
  });

  test('what is read is written the same way', () => {
    for (const server of ['mcp+https://example.org/mcp', 'mcp+http://localhost:7007/mcp']) {
      expect(parseSource(`${server}#skill://a/SKILL.md`, '/')).toMatchObject({
        kind: 'mcp',
        uri: 'skill://a/SKILL.md',
      });
    }
    expect(parseSource('mcp+stdio:npx  server', '/')).toMatchObject({ server: { command: ['npx', 'server'] } });
  });
});
