import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { childrenOf, parseUri, uriOf } from '../../src/mcp/skill-uri.ts';

const name = fc.stringMatching(/^[a-z0-9]+(-[a-z0-9]+)*$/);
/** Whatever a file may be called. */
const part = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }).filter(text => {
  return !text.includes('/') && text !== '.' && text !== '..' && text.isWellFormed();
});
const path = fc.array(part, { minLength: 1, maxLength: 4 }).map(parts => parts.join('/'));

describe('skill:// URIs', () => {
  test('name what they were made of', () => {
    fc.assert(
      fc.property(name, path, (skill, file) => {
        expect(parseUri(uriOf(skill, file))).toEqual({ skill, path: file });
        // A URL parser must not read it in another way.
        expect(parseUri(new URL(uriOf(skill, file)).href)).toEqual({ skill, path: file });
      }),
    );
  });

  test('no URI names a step out of a skill', () => {
    const odd = fc.constantFrom('..', '%2e%2e', '%2E.', '.', '', 'a%2fb', '%2f', 'a', '%', '%00', 'b%5c..');
    fc.assert(
      fc.property(fc.array(odd, { maxLength: 5 }), parts => {
        const parsed = parseUri(`skill://${parts.join('/')}`);
        if (parsed === null) return;
        expect(parsed.path.split('/')).not.toContain('..');
        expect(parsed.path.startsWith('/')).toBe(false);
      }),
    );
  });

  test('the children of a folder are its files and folders, each once', () => {
    const paths = ['SKILL.md', 'references/a.md', 'references/deep/b.md', 'references/deep/c.md'];
    expect(childrenOf(paths, '')?.map(({ name: each, isFolder }) => [each, isFolder])).toEqual([
      ['SKILL.md', false],
      ['references', true],
    ]);
    expect(childrenOf(paths, 'references')?.map(({ path: each }) => each)).toEqual([
      'references/a.md',
      'references/deep',
    ]);
    expect(childrenOf(paths, 'SKILL.md')).toBeNull();
    expect(childrenOf(paths, 'refer')).toBeNull();
  });
});
