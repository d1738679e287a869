import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { run } from '../fake-io.ts';
import { skillPath, skillText } from '../support/git.ts';
import { SkillsServer } from '../support/skills-server.ts';
import { tempDirectory } from '../temp.ts';

const base = tempDirectory();
const server = new SkillsServer();
let count = 0;

beforeAll(() => server.start());
afterAll(() => server.stop());
beforeEach(() => server.reset());

const source = () => `mcp+${server.url}`;

function ground() {
  const at = join(base, String(++count));
  const project = join(at, 'project');
  mkdirSync(join(project, '.git'), { recursive: true });
  mkdirSync(join(at, 'home/.claude'), { recursive: true });
  const env: Record<string, string> = { HOME: join(at, 'home'), SKILLBOX_DATA_DIR: join(at, 'data') };
  const cli = (...words: string[]) => run([...words, '--json'], { cwd: project, env });
  return { at, project, env, cli, lock: () => JSON.parse(readFileSync(join(project, 'skills.lock'), 'utf8')) };
}

const FILES = {
  'SKILL.md': skillText('pdf', { body: 'Read references/FORMS.md.' }),
  'references/FORMS.md': 'Forms.\n',
  'assets/a b&c.png': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3, 0xff]),
};

describe('an MCP server with skills', () => {
  test('add, lock, verify, restore, outdated, update', async () => {
    const { project, cli, lock, env } = ground();
    server.serve('pdf', FILES);
    server.serve('other', { 'SKILL.md': skillText('other') });
    const added = await cli('add', source(), '--skill', 'pdf', '--yes');
    expect(added.err).toBe('');
    expect(added.code).toBe(0);
    expect(readFileSync(join(skillPath(project, 'pdf'), 'assets/a b&c.png'))).toEqual(FILES['assets/a b&c.png']);
    expect(lstatSync(join(skillPath(project, 'pdf'), 'SKILL.md')).mode & 0o111).toBe(0);
    // Where it came from, what was listed, and every file.
    expect(lock().skills.pdf).toMatchObject({
      source: {
        kind: 'mcp',
        server: source(),
        uri: 'skill://pdf/SKILL.md',
        set: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
      files: { 'references/FORMS.md': { sha256: expect.any(String) } },
    });
    expect((await cli('verify')).code).toBe(0);
    expect((await cli('outdated')).code).toBe(0);

    // The bytes of the lock come back, and nothing else does.
    rmSync(skillPath(project, 'pdf'), { recursive: true });
    expect((await cli('install', '--frozen')).code).toBe(0);
    expect((await cli('verify')).code).toBe(0);

    server.serve('pdf', { ...FILES, 'references/FORMS.md': 'Other forms.\n' });
    const before = server.reads().length;
    const outdated = JSON.parse((await cli('outdated')).out);
    expect(outdated.outdated).toMatchObject([{ name: 'pdf', latest: { digest: null } }]);
    // To say that it changed, no file is needed.
    expect(server.reads()).toHaveLength(before);
    writeFileSync(join(skillPath(project, 'pdf'), 'SKILL.md'), 'tampered');
    const restored = await cli('install', '--frozen');
    expect(JSON.parse(restored.out).error).toBe('LOCK_MISMATCH');
    expect(server.reads()).toHaveLength(before);

    const asked = await run(['update'], { cwd: project, env, answers: ['n'] });
    expect(asked.out).toContain('+Other forms.');
    expect(asked.err).toContain('asked again');
    expect(readFileSync(join(skillPath(project, 'pdf'), 'references/FORMS.md'), 'utf8')).toBe('Forms.\n');
    const updated = JSON.parse((await cli('update', '--yes')).out);
    expect(updated.skills[0].diff.files.map(({ path }: { path: string }) => path)).toContain('references/FORMS.md');
    expect(readFileSync(join(skillPath(project, 'pdf'), 'references/FORMS.md'), 'utf8')).toBe('Other forms.\n');
    expect((await cli('outdated')).code).toBe(0);

    server.entries = [];
    expect((await cli('outdated')).err).toContain('no longer in its source');
  });

  test('nothing is read for a list, nor before somebody chose', async () => {
    const { project, cli, env } = ground();
    server.serve('pdf', FILES);
    server.serve('other', { 'SKILL.md': skillText('other') });
    const listed = JSON.parse((await cli('add', source(), '--list')).out);
    expect(listed.skills.map(({ name }: { name: string }) => name)).toEqual(['pdf', 'other']);
    expect((await cli('add', source(), '--yes')).code).toBe(2);
    expect((await run(['add', source()], { cwd: project, env, answers: [] })).code).toBe(1);
    expect(server.reads()).toEqual([]);
    await cli('add', source(), '--skill', 'other', '--dry-run');
    expect(server.reads()).toEqual(['skill://other/SKILL.md']);
  });

  test('a skill that is not listed is had by its address', async () => {
    const { cli, project } = ground();
    server.serve('hidden', { 'SKILL.md': skillText('hidden') }, 'acme/tools/');
    server.on.set('skills/list', () => ({ skills: [] }));
    expect(JSON.parse((await cli('add', source(), '--yes')).out)).toMatchObject({ error: 'NOT_A_SKILL' });
    expect((await cli('add', `${source()}#skill://acme/tools/hidden/SKILL.md`, '--yes')).code).toBe(0);
    expect(existsSync(skillPath(project, 'hidden'))).toBe(true);
    const missing = await cli('add', `${source()}#skill://acme/none/SKILL.md`, '--yes');
    expect(JSON.parse(missing.out).error).toBe('NOT_FOUND');
  });

  test('two of one name are told apart by their addresses, and neither is preferred', async () => {
    const { cli, project } = ground();
    server.serve('refunds', { 'SKILL.md': skillText('refunds', { body: 'Billing.' }) }, 'billing/');
    server.serve('refunds', { 'SKILL.md': skillText('refunds', { body: 'Support.' }) }, 'support/');
    const both = JSON.parse((await cli('add', source(), '--skill', 'refunds', '--yes')).out);
    expect(both).toMatchObject({ error: 'INSTALL_REFUSED', hint: expect.stringContaining('#skill://') });
    expect((await cli('add', `${source()}#skill://support/refunds/SKILL.md`, '--yes')).code).toBe(0);
    expect(readFileSync(join(skillPath(project, 'refunds'), 'SKILL.md'), 'utf8')).toContain('Support.');
    // The other one does not take its place.
    const other = await cli('add', `${source()}#skill://billing/refunds/SKILL.md`, '--yes');
    expect(JSON.parse(other.out).error).toBe('EXISTS');
  });

  test('it is not trusted for lying in your own directory, and a model hears where it came from', async () => {
    const { cli, env, project } = ground();
    server.serve('pdf', FILES);
    const shown = await run(['add', source(), '--global', '--yes'], { cwd: project, env });
    expect(shown.err).toContain('stays untrusted');
    expect(shown.err).not.toContain('trusts them as yours');
    const home = env.HOME ?? '';
    expect(existsSync(skillPath(home, 'pdf'))).toBe(true);
    const explained = JSON.parse((await cli('policy', 'explain', skillPath(home, 'pdf'))).out);
    expect(JSON.stringify(explained)).toContain('came from the MCP server');
    expect((await cli('catalog')).out).not.toContain('<name>pdf</name>');
    const active = JSON.parse((await cli('activate', skillPath(home, 'pdf'))).out);
    expect(active).toMatchObject({ server: source(), text: expect.stringContaining(` origin="${source()}">`) });
    expect((await cli('trust', 'add', skillPath(home, 'pdf'))).code).toBe(0);
    expect((await cli('catalog')).out).toContain('<name>pdf</name>');
  });

  test('a key goes to its own host only', async () => {
    const { cli, env } = ground();
    server.serve('pdf', FILES);
    const { host } = new URL(server.url);
    env.SKILLBOX_MCP_KEYS = `elsewhere.example=no, ${host}=the-key`;
    await cli('add', source(), '--list');
    expect(new Set(server.headers.map(headers => headers.authorization))).toEqual(new Set(['Bearer the-key']));
    server.reset();
    env.SKILLBOX_MCP_KEYS = 'elsewhere.example=no';
    await cli('add', source(), '--list');
    expect(server.headers.some(headers => headers.authorization !== undefined)).toBe(false);
    server.raw = (_request, answer) => answer.writeHead(401).end() && true;
    const refused = JSON.parse((await cli('add', source(), '--list')).out);
    expect(refused).toMatchObject({ error: 'SOURCE_FAILED', hint: expect.stringContaining('SKILLBOX_MCP_KEYS') });
    env.SKILLBOX_MCP_KEYS = 'a-secret-without-host';
    const wrong = await cli('add', source(), '--list');
    expect(wrong.code).toBe(2);
    expect(wrong.out).not.toContain('a-secret');
  });
});
