import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SkillboxError } from '../../src/index.ts';
import { type AgentId, parseLock, parseSource, readLock, renderLock, showSource } from '../../src/install/index.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const cwd = tempDirectory();

describe('sources', () => {
  test.each([
    ['acme/skills', 'https://github.com/acme/skills.git'],
    ['acme/skills#v2', 'https://github.com/acme/skills.git#v2'],
    ['acme/skills/tools/word', 'https://github.com/acme/skills.git#:tools/word'],
    ['acme/skills#main:tools/word', 'https://github.com/acme/skills.git#main:tools/word'],
    ['https://github.com/acme/skills/tree/main/tools/word', 'https://github.com/acme/skills.git#main:tools/word'],
    ['https://git.example.org/a/b.git#v1', 'https://git.example.org/a/b.git#v1'],
    ['ssh://git@example.org/a/b.git', 'ssh://git@example.org/a/b.git'],
    ['git@example.org:a/b.git#v1', 'git@example.org:a/b.git#v1'],
    ['file:///srv/skills', 'file:///srv/skills'],
    ['https://example.org', 'https://example.org/.well-known/agent-skills/index.json'],
    [
      'https://example.org/x/.well-known/agent-skills/index.json',
      'https://example.org/x/.well-known/agent-skills/index.json',
    ],
    ['./nothing', join(cwd, 'nothing')],
  ])('%s', (word, shown) => {
    expect(showSource(parseSource(word, cwd))).toBe(shown);
  });

  test('a path that is there counts before a repository of that name', () => {
    writeFiles(cwd, { 'acme/skills/SKILL.md': 'x' });
    expect(parseSource('acme/skills', cwd)).toEqual({ kind: 'path', path: join(cwd, 'acme/skills') });
  });

  test('no word becomes an option of git, another transport, or a folder outside', () => {
    const part = fc.constantFrom(
      '-',
      '--upload-pack=x',
      'ext::',
      'ssh://',
      'file:///',
      'https://',
      'a',
      'b/c',
      '..',
      '/',
      '#',
      ':',
      '@',
      'example.org',
      '%2d',
      '%00',
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), parts => {
        let source: ReturnType<typeof parseSource>;
        try {
          source = parseSource(parts.join(''), '/nowhere');
        } catch (error) {
          expect(error).toBeInstanceOf(SkillboxError);
          return;
        }
        if (source.kind !== 'git') return;
        expect(source.url).toMatch(/^(?:https:\/\/|ssh:\/\/|file:\/\/|[\w.-]+@[A-Za-z0-9])/);
        expect(source.url).not.toMatch(/^-|^[\w+.-]*::|^[\w+.-]*:\/\/-/);
        expect(source.ref ?? 'x').not.toMatch(/^-|\.\./);
        expect((source.folder ?? 'x').split('/')).not.toContain('..');
      }),
      { numRuns: 2000 },
    );
  });
});

describe('the lock', () => {
  const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`));
  const name = fc.stringMatching(/^[a-z0-9]{1,8}$/);
  const source = fc.oneof(
    fc.record({ kind: fc.constant('path' as const), path: fc.constantFrom('../x', '/srv/x') }),
    fc.record({
      kind: fc.constant('git' as const),
      url: fc.constant('https://example.org/x.git'),
      ref: fc.constantFrom(null, 'main'),
      commit: hex(40),
    }),
  );
  const skill = fc.record({
    name,
    version: fc.constantFrom(null, '1.0.0'),
    source,
    folder: fc.constantFrom('', 'skills/x'),
    digest: hex(64).map(text => `sb1-sha256:${text}`),
    files: fc
      .dictionary(name, fc.record({ sha256: hex(64), executable: fc.boolean() }))
      .map(files => new Map(Object.entries(files))),
    agents: fc.constantFrom<AgentId[][]>([], ['claude-code', 'goose']),
    method: fc.constantFrom('link' as const, 'copy' as const),
  });

  test('reads what it writes, in one order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(skill, { selector: one => one.name }), skills => {
        const text = renderLock(new Map(skills.map(one => [one.name, one])));
        expect(renderLock(new Map([...skills].reverse().map(one => [one.name, one])))).toBe(text);
        expect(renderLock(parseLock(text))).toBe(text);
        expect([...parseLock(text).values()]).toEqual(expect.arrayContaining(skills));
      }),
    );
  });

  test('no file is an empty lock; anything else that cannot be read is an error', () => {
    expect(readLock(join(cwd, 'none')).size).toBe(0);
    fc.assert(
      fc.property(fc.json(), text => {
        expect(() => parseLock(text)).toThrow(expect.objectContaining({ code: 'LOCK_INVALID' }));
      }),
    );
  });
});
