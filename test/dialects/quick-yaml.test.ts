import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseQuickYaml } from '../../src/dialects/quick-yaml.ts';
import { parseYaml, type YamlMap } from '../../src/dialects/yaml.ts';

/** Equal to the library in keys, values, source text and offsets. */
function expectEqual(text: string): boolean {
  const quick = parseQuickYaml(text, 100);
  if (quick === null) return false;
  const { node, problems } = parseYaml(text, 100);
  if (quick.length === 0) expect(node === null || node.kind === 'scalar').toBe(true);
  else expect(quick).toEqual((node as YamlMap).entries);
  expect(problems).toEqual([]);
  return true;
}

describe('the quick path takes what most skills have', () => {
  test.each([
    'name: a\ndescription: Does things. Use when asked.\n',
    'name: a\r\ndescription: b\r\n',
    'name: "a b"\ndescription: \'it is: fine # really\'\n',
    'version: 1.2.3\n',
    'timeout: 30s\nresources:\n  cpu: "0.5"\n  memory: 128Mi\n',
    'version: 1\ncontainer_timeout: 30\n',
    'metadata:\n  author: x\n  version: "1.0"\nlicense: MIT\n',
    'tags:\n  - a\n  - "b c"\nname: x\n',
    'tags:\n- a\n- b\n',
    'tags: [a, b-c]\nmodes: []\n',
    'description: >-\n  Folds over\n  two lines.\nname: a\n',
    'description: |\n  Keeps\n  lines.\nname: a\n',
    'allowed-tools: Read Grep Bash(git:*)\n',
    'user-invocable: false\nhomepage: null\n',
    'name: 处理\ndescription: Überprüft\n',
    '',
    '\n\nname: a\n\n\nlicense: MIT\n',
  ])('%j', text => {
    expect(expectEqual(text)).toBe(true);
  });
});

describe('and leaves everything else to the library', () => {
  test.each([
    'a: b: c',
    'a: b #c',
    'a: "x\\n"',
    "a: 'x''y'",
    'a: 01',
    'a: -1',
    'a: 1e9',
    'a: 0x10s',
    'a: 1.10',
    'a: ~',
    'a: *b',
    'a: @x',
    'a: b\n  c',
    'a: b\na: c',
    '__proto__: b',
    'a: >\n  x\n\n  y\n',
    'a: >\n  x\n   y\n',
    'a: |\n  x',
    'm:\n  a: b\n   c: d\n',
    'm:\n  a:\n    b: c\n',
    'a:\n',
    'a: [1, 2]',
    'a: {b: c}',
    '- a',
    '# comment\na: b',
    'a: b\u0085c',
    'a:\tb',
  ])('%j', text => {
    expect(parseQuickYaml(text, 0)).toBeNull();
  });
});

test('X-03 wherever it accepts, it equals the library', () => {
  const word = fc.constantFrom(
    'a',
    'B c',
    'it is',
    'true',
    'null',
    'No',
    '1.0',
    '1.2.3',
    '0x1',
    'x:y',
    'x: y',
    'x #y',
    'x#y',
    '"q"',
    "'s'",
    '"a',
    "it's",
    '[a, b]',
    '[a,1]',
    '[]',
    '-',
    '- x',
    '>',
    '>-',
    '|',
    '|-',
    '|+',
    '{}',
    '*a',
    '&a',
    '!x',
    '%',
    '@',
    '`',
    '?',
    'é',
    '处',
    '\u00a0x',
    'x\u00a0',
    '.inf',
    '-1',
    '30',
    '30s',
    '128Mi',
    '1e3',
    '0o7',
    '12e03',
    '0b1',
    '~',
    '---',
    '...',
    '=',
    '<<',
  );
  const key = fc.constantFrom('a', 'b', 'name', 'x-y', 'null', 'true', '1', 'é', '"q"', '__proto__', '?', '-');
  const indent = fc.constantFrom('', '', '', '  ', '  ', ' ', '    ', '\t');
  const line = fc.oneof(
    fc.tuple(indent, key, word).map(([i, k, w]) => `${i}${k}: ${w}`),
    fc.tuple(indent, key).map(([i, k]) => `${i}${k}:`),
    fc.tuple(indent, word).map(([i, w]) => `${i}- ${w}`),
    fc.tuple(indent, word).map(([i, w]) => `${i}${w}`),
    fc.constantFrom('', '  ', '# x', '  # x'),
  );
  const ending = fc.constantFrom('\n', '\n', '\n', '\r\n', '  \n', '\n\n');
  let accepted = 0;
  fc.assert(
    fc.property(fc.array(fc.tuple(line, ending), { maxLength: 6 }), fc.boolean(), (lines, cut) => {
      const text = lines.map(([body, end]) => body + end).join('');
      if (expectEqual(cut ? text.trimEnd() : text)) accepted++;
    }),
    { numRuns: 20_000 },
  );
  expect(accepted).toBeGreaterThan(500);
});
