import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { run } from '../fake-io.ts';
import { skillPath, skillText } from '../support/git.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

/** A site that publishes skills, on loopback. */
const base = tempDirectory();
const INDEX = '/.well-known/agent-skills/index.json';
const pages = new Map<string, { body: Buffer; location?: string }>();
let server: Server;
let site: string;
let count = 0;

beforeAll(async () => {
  server = createServer((request, answer) => {
    // A connection that was kept while a test packed its archive may be closed by the time it is used again.
    answer.setHeader('connection', 'close');
    const page = pages.get(request.url ?? '');
    if (page?.location !== undefined) answer.writeHead(302, { location: page.location });
    else answer.writeHead(page === undefined ? 404 : 200);
    answer.end(page?.body ?? '');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());
beforeEach(() => pages.clear());

function publish(entries: { name: string; type: string; body: Buffer; url?: string; digest?: string }[]): void {
  const skills = entries.map(({ name, type, body, url = `${name}/file`, digest }) => {
    pages.set(`/.well-known/agent-skills/${name}/file`, { body });
    const sum = `sha256:${createHash('sha256').update(body).digest('hex')}`;
    return { name, type, description: `Does ${name}.`, url, digest: digest ?? sum };
  });
  pages.set(INDEX, { body: Buffer.from(JSON.stringify({ $schema: 'x', skills })) });
}

function ground() {
  const at = join(base, String(++count));
  const project = join(at, 'project');
  mkdirSync(join(project, '.git'), { recursive: true });
  mkdirSync(join(at, 'home'));
  const env = { HOME: join(at, 'home'), SKILLBOX_DATA_DIR: join(at, 'data') };
  return { at, project, cli: (...words: string[]) => run([...words, '--json'], { cwd: project, env }) };
}

type TarEntry = { name: string; text?: string; mode?: number; type?: Header['type']; linkname?: string };

async function tar(entries: TarEntry[]): Promise<Buffer> {
  const packing = pack();
  for (const { text: content = '', ...header } of entries) packing.entry(header, content);
  packing.finalize();
  return gzipSync(await buffer(packing));
}

const text = (name: string, body = 'Do it.') => Buffer.from(skillText(name, { body }));

describe('an index of skills', () => {
  test('a single file and a zip, chosen by name, locked and restored', async () => {
    const { at, project, cli } = ground();
    const folder = writeFiles(join(at, 'packed'), { 'SKILL.md': skillText('packed'), 'references/a.md': 'a' });
    const zip = join(at, 'packed.zip');
    expect((await run(['skill', 'package', folder, '--version', '1.0.0', '-o', zip])).code).toBe(0);
    publish([
      { name: 'plain', type: 'skill-md', body: text('plain') },
      { name: 'packed', type: 'archive', body: readFileSync(zip) },
    ]);
    expect(JSON.parse((await cli('add', site, '--yes')).out).message).toContain('plain, packed');
    expect((await cli('add', site, '--all', '--yes')).code).toBe(0);
    expect(readFileSync(join(skillPath(project, 'packed'), 'references/a.md'), 'utf8')).toBe('a');
    const lock = JSON.parse(readFileSync(join(project, 'skills.lock'), 'utf8'));
    expect(lock.skills.plain.source).toEqual({ kind: 'well-known', url: `${site}${INDEX}` });

    publish([{ name: 'plain', type: 'skill-md', body: text('plain', 'Other.') }]);
    expect(JSON.parse((await cli('outdated', 'plain')).out).outdated).toHaveLength(1);
    expect((await cli('install', '--frozen')).code).toBe(0);
  });

  test.each([
    ['other bytes than the index says', { body: text('bad'), digest: `sha256:${'0'.repeat(64)}` }, 'SOURCE_REFUSED'],
    ['no digest', { body: text('bad'), digest: '' }, 'SOURCE_FAILED'],
    ['another name inside', { body: text('other') }, 'SOURCE_REFUSED'],
    ['an address that is not encrypted', { body: text('bad'), url: 'http://example.org/x' }, 'SOURCE_REFUSED'],
    ['an address of a file', { body: text('bad'), url: 'file:///etc/passwd' }, 'SOURCE_FAILED'],
    ['something that is no archive', { type: 'archive', body: Buffer.from('Rar!') }, 'SOURCE_UNSUPPORTED'],
    ['a broken tar.gz', { type: 'archive', body: Buffer.from([0x1f, 0x8b, 8]) }, 'ARCHIVE_UNSAFE'],
    ['a type nobody knows', { type: 'script', body: text('bad') }, 'SOURCE_FAILED'],
  ])('%s: refused', async (_what, entry, error) => {
    const { project, cli } = ground();
    publish([{ name: 'bad', type: 'skill-md', ...entry }]);
    expect(JSON.parse((await cli('add', site, '--yes')).out).error).toBe(error);
    expect(existsSync(join(project, '.skillbox/skills'))).toBe(false);
  });

  test('a tar.gz, with and without a folder around it', async () => {
    const { project, cli } = ground();
    publish([
      { name: 'flat', type: 'archive', body: await tar([{ name: 'SKILL.md', text: skillText('flat') }]) },
      {
        name: 'topped',
        type: 'archive',
        body: await tar([
          { name: 'topped/SKILL.md', text: skillText('topped') },
          { name: 'topped/scripts/go.sh', text: 'true', mode: 0o755 },
        ]),
      },
    ]);
    expect((await cli('add', site, '--all', '--yes')).code).toBe(0);
    expect(statSync(join(skillPath(project, 'topped'), 'scripts/go.sh')).mode & 0o111).not.toBe(0);
    expect(existsSync(join(skillPath(project, 'flat'), 'SKILL.md'))).toBe(true);
  });

  test.each([
    ['a link', { name: 'x', type: 'symlink' as const, linkname: '/etc/passwd' }],
    ['a hard link', { name: 'x', type: 'link' as const, linkname: 'SKILL.md' }],
    ['a device', { name: 'x', type: 'character-device' as const }],
    ['a name that climbs', { name: '../x', text: 'x' }],
    ['an absolute name', { name: '/tmp/skillbox-x', text: 'x' }],
    ['a name twice', { name: 'SKILL.md', text: 'x' }],
    ['a bomb', { name: 'x', text: '\0'.repeat(300 * 1024 ** 2) }],
  ])('a tar.gz with %s: refused', async (_what, entry) => {
    const { project, cli } = ground();
    publish([{ name: 'bad', type: 'archive', body: await tar([{ name: 'SKILL.md', text: skillText('bad') }, entry]) }]);
    expect(JSON.parse((await cli('add', site, '--yes')).out).error).toMatch(/^ARCHIVE_/);
    expect(existsSync(join(project, '.skillbox/skills'))).toBe(false);
  });

  test('a redirect is followed to where it may go, and not on and on', async () => {
    const { cli } = ground();
    publish([{ name: 'moved', type: 'skill-md', body: text('moved') }]);
    const index = pages.get(INDEX);
    if (index !== undefined) pages.set('/.well-known/agent-skills/new.json', index);
    pages.set(INDEX, { body: Buffer.alloc(0), location: '/.well-known/agent-skills/new.json' });
    expect((await cli('add', site, '--yes')).code).toBe(0);
    pages.set(INDEX, { body: Buffer.alloc(0), location: INDEX });
    expect(JSON.parse((await cli('add', site, '--yes')).out).error).toBe('SOURCE_FAILED');
    pages.set(INDEX, { body: Buffer.alloc(0), location: 'http://example.org/' });
    expect(JSON.parse((await cli('add', site, '--yes')).out).error).toBe('SOURCE_REFUSED');
  });
});
