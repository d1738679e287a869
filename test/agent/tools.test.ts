import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { callTool, newSession, toolsOf } from '../../src/agent/index.ts';
import type { Skillbox } from '../../src/app.ts';
import { openDesk } from '../support/mcp.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const temp = tempDirectory();
const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
});

async function deskWith(skills: Record<string, Record<string, string>>, workspaceNames = false) {
  const base = realpathSync(mkdtempSync(join(temp, 'case-')));
  mkdirSync(join(base, 'home'));
  mkdirSync(join(base, 'work'));
  const dirs = [join(base, 'skills')];
  mkdirSync(join(base, 'skills'));
  for (const [name, files] of Object.entries(skills)) writeFiles(join(base, 'skills', name), files);
  const opened = await openDesk({ dataDirectory: join(base, 'data'), home: join(base, 'home'), dirs, workspaceNames });
  closing.push(async () => {
    opened.watched.close();
    await opened.skillbox.close();
  });
  const context = {
    library: opened.desk.library,
    session: newSession(),
    workspace: join(base, 'work'),
    signal: null,
    onOutput: () => undefined,
    client: 'test',
  };
  const call = async (name: string, args: Record<string, string>) => {
    const tool = (await toolsOf(opened.desk)).get(name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    return callTool(tool, args, context);
  };
  return { ...opened, call, base };
}

async function told(skillbox: Skillbox, type: string): Promise<string> {
  const { entries } = await skillbox.audit.list(
    { types: [type], subject: null, sinceMs: null, untilMs: null, tenants: null, beforeSeq: null },
    5,
  );
  return JSON.stringify(entries);
}

const plain = (name: string, more = '') => ({
  'SKILL.md': `---\nname: ${name}\ndescription: About ${name}.\n${more}---\nText.\n`,
});

describe('the tools of an agent', () => {
  test('without skills the name is no enum, and nothing is listed', async () => {
    const { desk, call } = await deskWith({});
    const tools = await toolsOf(desk);
    expect(tools.get('activate_skill')?.description).not.toContain('available_skills');
    expect(tools.get('activate_skill')?.input.properties).toMatchObject({ name: { type: 'string' } });
    expect(await call('list_skills', {})).toMatchObject({ data: { skills: [], total: 0 }, body: null });
  });

  test('more than a thousand names are found, not listed one by one', async () => {
    const names = Array.from({ length: 1001 }, (_, i) => `skill-${i}`);
    const { desk, call } = await deskWith(Object.fromEntries(names.map(name => [name, plain(name)])));
    const properties = (await toolsOf(desk)).get('activate_skill')?.input.properties as { name: object };
    expect(properties.name).not.toHaveProperty('enum');
    expect(await call('activate_skill', { name: 'skill-1000' })).toMatchObject({ isError: false });
    expect(await call('activate_skill', { name: 'skill-1001' })).toMatchObject({ error: { code: 'NOT_FOUND' } });
    const { data } = await call('list_skills', {});
    expect(data).toMatchObject({ total: 1001, left_out: 801 });
  });

  test('WS-04: the names of the workspace format are there when they are switched on', async () => {
    const off = await toolsOf((await deskWith({ a: plain('a') })).desk);
    const on = await toolsOf((await deskWith({ a: plain('a') }, true)).desk);
    const names = ['skill', 'skill_resource', 'skill_script'];
    expect(names.map(name => [off.has(name), on.has(name)])).toEqual(names.map(() => [false, true]));
  });

  test('WS-05: resources of a workspace skill have the endings of the format', async () => {
    const files = { ...plain('filer', 'tags: files\n'), 'references/a.md': 'A', 'references/b.rst': 'B' };
    const { call } = await deskWith({ filer: files });
    const read = (path: string) => call('read_skill_resource', { skill: 'filer', path });
    expect(await read('references/a.md')).toMatchObject({ data: { text: 'A' } });
    expect(await read('references/b.rst')).toMatchObject({ error: { code: 'FILE_TYPE' } });
  });

  test('what nobody sees is removed from what is read', async () => {
    const { call } = await deskWith({ a: { ...plain('a'), 'references/a.md': 'pl\u200bain\u202e\n' } });
    const { body, note } = await call('read_skill_resource', { skill: 'a', path: 'references/a.md' });
    expect(body).toBe('plain\n');
    expect(note).toContain('2 characters that nobody sees were removed');
  });

  test('a write is told to the journal before it is made', async () => {
    const { call, skillbox, base } = await deskWith({});
    await call('file_write', { path: 'a.md', content: 'text' });
    expect(await told(skillbox, 'file.written')).toContain(join(base, 'work'));
  });

  test('an activation is told to the journal, and a skill that is gone is an error with a hint', async () => {
    const { call, skillbox, base } = await deskWith({ a: plain('a') });
    await call('activate_skill', { name: 'a' });
    expect(await told(skillbox, 'skill.activated')).toContain('"client":"test"');
    writeFileSync(join(base, 'skills/a/SKILL.md'), 'no frontmatter');
    const { isError, error } = await call('read_skill_resource', { skill: 'a', path: 'x' });
    expect(isError).toBe(true);
    expect(error?.hint).toMatch(/\w/);
  });
});
