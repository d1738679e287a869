import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadConfig, SETTING_NAMES, settingOf, variableOf } from '../../src/config/index.ts';
import { tempDirectory } from '../temp.ts';

const home = tempDirectory();
const usual = loadConfig({ env: { HOME: home }, role: 'server' });

describe('the table of settings', () => {
  test('each has a sentence, a name of its form, and a variable and a flag of its own', () => {
    const variables = SETTING_NAMES.map(variableOf);
    const flags = SETTING_NAMES.flatMap(name => settingOf(name).flag ?? []);
    expect([new Set(variables).size, new Set(flags).size]).toEqual([variables.length, flags.length]);
    for (const name of SETTING_NAMES) {
      expect(name).toMatch(/^[a-z0-9]+(?:\.[a-z0-9][a-zA-Z0-9]*)+$/);
      expect(variableOf(name)).toMatch(/^SKILLBOX_[A-Z0-9_]+$/);
      expect(settingOf(name).help).toMatch(/^[A-Z].*\.$/);
    }
    // A variable with _FILE is that of a secret, and a key that ends with File too.
    expect(SETTING_NAMES.filter(name => name.endsWith('File') || variableOf(name).endsWith('_FILE'))).toEqual([]);
  });

  test('what is usual could have been written', () => {
    for (const name of SETTING_NAMES) {
      const { form } = settingOf(name);
      const value: unknown = usual.get(name);
      if (form.kind === 'secret' || (value === null && name !== 'retention.runs')) continue;
      for (const each of Array.isArray(value) ? value : [value]) {
        expect([name, form.of.parse(form.of.render(each))]).toEqual([name, each]);
      }
    }
  });

  test('whatever is accepted can be written again as the same', () => {
    const kinds = SETTING_NAMES.flatMap(name => {
      const { form } = settingOf(name);
      return form.kind === 'secret' ? [] : [form.of];
    });
    const likely = fc.oneof(
      fc.string(),
      fc.nat().map(String),
      fc
        .tuple(fc.nat({ max: 5000 }), fc.constantFrom('ms', 's', 'm', 'h', 'd', 'Ki', 'Mi', 'g', 'kb'))
        .map(p => p.join('')),
      fc.webUrl(),
      fc.ipV4(),
      fc.ipV6(),
      fc.domain(),
      fc.constantFrom('yes', 'forever', '/a/b', 'a.b:1=10.0.0.1:2', 'https://x.example', 'a/b/', '10.0.0.0/8'),
    );
    fc.assert(
      fc.property(fc.constantFrom(...kinds), likely, (kind, text) => {
        const value: unknown = kind.parse(text);
        if (value !== undefined) expect(kind.parse(kind.render(value))).toEqual(value);
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    ['server.port', ['0', '65535'], ['-1', '65536', '1.5', '0x10', '1e3', '', ' 1', 'NaN']],
    ['server.requestTimeout', ['30s', '2m', '1h', '90'], ['0s', '2h', '1w', '-1s', 'Infinity', '10ms']],
    ['retention.runs', ['forever', '30d', '12h'], ['never', '0d', '30', '', '1y']],
    ['server.bodyLimit', ['1Mi', '1024'], ['1', '1Ti', '-1', '65Mi']],
    [
      'server.publicUrl',
      ['https://a.example/x'],
      ['https://u:p@a.example', 'ftp://a.example', 'a.example', 'javascript:1'],
    ],
    [
      'server.origins',
      ['https://a.example', 'http://a.example:81'],
      ['https://a.example/', 'https://a.example/x', '*', 'null'],
    ],
    ['server.hosts', ['a.example', 'a.example:81', '[::1]:81', '10.0.0.1'], ['a b', 'a/b', 'http://a', '*', 'a:99999']],
    ['server.proxies', ['10.0.0.0/8', '::1', 'fd00::/8'], ['10.0.0.0/33', 'all', 'a.example', '::/129']],
    ['server.host', ['::', 'a.example'], ['a:1', '[::1]', '*']],
    ['store.s3.prefix', ['a/', 'a/b.c/'], ['/a/', 'a', '../', 'a/../', './', 'a//']],
    ['store.postgres.schema', ['skillbox', '_a1'], ['A', 'a-b', '1a', 'a"; drop']],
    ['store.s3.bucket', ['abc', 'a.b-c1'], ['ab', 'A-b', '-abc', 'a_b']],
    ['data.directory', ['/x'], ['x', './x', '~/x', '/x\0y']],
  ] as const)('%s', (name, good, bad) => {
    const { form } = settingOf(name);
    if (form.kind === 'secret') throw new Error('a secret has no kind');
    expect(good.filter(text => form.of.parse(text) === undefined)).toEqual([]);
    expect(bad.filter(text => form.of.parse(text) !== undefined)).toEqual([]);
  });
});
