import { describe, expect, test } from 'vitest';
import { findFences } from '../../src/dialects/fences.ts';

/** What lies between the fences, what follows them, and the codes of what is odd about them. */
function split(text: string): { fields: string; body: string; codes: string[] } | string {
  const found = findFences(text);
  if ('missing' in found) return found.missing.code;
  const codes = found.problems.map(problem => problem.code);
  return { fields: text.slice(found.start, found.end), body: text.slice(found.bodyAt), codes };
}

describe('X-04 frontmatter that every client finds', () => {
  test.each([
    ['two lines of dashes', '---\nname: a\n---\nbody\n', 'name: a\n', 'body\n'],
    ['CRLF', '---\r\nname: a\r\n---\r\nbody\r\n', 'name: a\r\n', 'body\r\n'],
    ['spaces behind the dashes', '---  \nname: a\n--- \t\nbody', 'name: a\n', 'body'],
    ['no newline behind the closing line', '---\nname: a\n---', 'name: a\n', ''],
    ['nothing between them', '---\n---\nbody', '', 'body'],
    [
      'dashes inside a value',
      '---\nname: a --- b\ntext: |\n  ---\n---\nbody',
      'name: a --- b\ntext: |\n  ---\n',
      'body',
    ],
    ['dashes behind U+2028', '---\nname: a\u2028---\nb: c\n---\nbody', 'name: a\u2028---\nb: c\n', 'body'],
    ['dashes behind a lone carriage return', '---\nname: a\r---\nb: c\n---\nbody', 'name: a\r---\nb: c\n', 'body'],
    ['a rule in the body', '---\nname: a\n---\none\n\n---\n\ntwo', 'name: a\n', 'one\n\n---\n\ntwo'],
  ])('%s', (_title, text, fields, body) => {
    expect(split(text)).toEqual({ fields, body, codes: [] });
  });
});

describe('X-05 fences that only some clients accept', () => {
  const plain = { fields: 'name: a\n', body: 'body' };
  test.each([
    ['a language behind the dashes', '---yaml\nname: a\n---\nbody', ['frontmatter-fence']],
    ['a comment behind the dashes', '--- # mine\nname: a\n---\nbody', ['frontmatter-fence']],
    ['a word behind the dashes', '--- frontmatter\nname: a\n---\nbody', ['frontmatter-fence']],
    ['more dashes', '-----\nname: a\n-----\nbody', ['frontmatter-fence', 'frontmatter-fence']],
    ['an em dash', '—\nname: a\n—\nbody', ['frontmatter-fence', 'frontmatter-fence']],
    ['dots at the end', '---\nname: a\n...\nbody', ['frontmatter-fence']],
    ['text behind the closing dashes', '---\nname: a\n---body\nbody', ['frontmatter-fence']],
    ['the first field on the opening line', '---name: a\n---\nbody', ['frontmatter-fence']],
    ['a code block', '```yaml\nname: a\n```\nbody', ['frontmatter-fence']],
    ['no opening line', 'name: a\n---\nbody', ['frontmatter-unopened']],
  ])('%s', (_title, text, codes) => {
    expect(split(text)).toEqual({ ...plain, codes });
  });

  test.each([
    ['blank lines', '\n\n---\nversion: 1\n---\nbody'],
    ['an HTML comment', '<!-- made by\na tool -->\n\n---\nversion: 1\n---\nbody'],
    ['a zero-width space', '\u200b---\nversion: 1\n---\nbody'],
    ['a second byte order mark', '\ufeff---\nversion: 1\n---\nbody'],
  ])('%s before the frontmatter', (_title, text) => {
    expect(split(text)).toEqual({ fields: 'version: 1\n', body: 'body', codes: ['frontmatter-preceded'] });
  });

  test.each([
    ['a heading', '# Title\n---\nname: a\n---\nbody'],
    ['comments', '# one\n# two\n\n---\nname: a\n---\nbody'],
    ['an opened code block', '```yaml\n---\nname: a\n---\nbody'],
  ])('%s before what can only be the frontmatter of a skill', (_title, text) => {
    expect(split(text)).toEqual({ ...plain, codes: ['frontmatter-preceded'] });
  });

  test('a rule between two paragraphs opens nothing', () => {
    expect(split('Some prose.\n\n---\n\nMore: prose.\n\n---\n')).toBe('frontmatter-missing');
  });

  test('fields without any fence are prose', () => {
    expect(split('name: a\ndescription: b\n')).toBe('frontmatter-missing');
  });
});

describe('X-05 a missing closing line', () => {
  test.each([
    [
      'ends the fields at a heading',
      '---\nname: a\ndescription: b\n\n# Title\ntext',
      'name: a\ndescription: b\n\n',
      '# Title\ntext',
    ],
    ['ends them where no field follows a blank line', '---\nname: a\n\nSome prose.\n', 'name: a\n', '\nSome prose.\n'],
    ['ends them with the file', '---\nname: a\ndescription: b', 'name: a\ndescription: b', ''],
    ['keeps a field below a blank line', '---\nname: a\n\nversion: 1\n\nProse.', 'name: a\n\nversion: 1\n', '\nProse.'],
  ])('%s', (_title, text, fields, body) => {
    expect(split(text)).toEqual({ fields, body, codes: ['frontmatter-unclosed'] });
  });

  test.each([
    ['', 'name: a\ndescription: b\n\n'],
    ['\n', 'name: a\ndescription: b\n\n'],
  ])('a formatter took it for the underline of a heading (%j)', (blank, fields) => {
    const text = `---\n${blank}## name: a\ndescription: b\n\n# Title\n\n---\n\nmore`;
    expect(split(text)).toEqual({ fields, body: '# Title\n\n---\n\nmore', codes: ['frontmatter-unclosed'] });
  });
});

describe('X-04 other languages are never read', () => {
  test.each([
    '+++\nname = "a"\n+++\n',
    ';;;\n{}\n;;;\n',
    '---js\nmodule.exports = {}\n---\n',
    '---toml\nname = "a"\n---\n',
    '---{"name": "a"}\n---\n',
  ])('%j', text => {
    expect(split(text)).toBe('frontmatter-language');
  });

  test('no frontmatter at all', () => {
    expect(split('# Title\n\nText.\n')).toBe('frontmatter-missing');
    expect(split('')).toBe('frontmatter-missing');
  });
});
