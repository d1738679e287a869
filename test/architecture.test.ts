import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..');
const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
const between = (from: string, to: string) => text.slice(text.indexOf(from), text.indexOf(to, text.indexOf(from)));

describe('ARCHITECTURE.md', () => {
  test('has a line for every module, and for none that is not there', () => {
    const told = [...between('src/\n', 'helper/').matchAll(/^ {2}([a-z-]+)\/ /gm)].map(match => match[1] ?? '');
    const entries = readdirSync(join(root, 'src'), { withFileTypes: true });
    expect(told.sort()).toEqual(
      entries
        .filter(entry => entry.isDirectory())
        .map(entry => entry.name)
        .sort(),
    );
  });

  test('has a word on every file of the wiring', () => {
    const tree = between('## Tree', '## A reading');
    const files = readdirSync(join(root, 'src')).filter(name => name.endsWith('.ts'));
    expect(files.filter(name => !tree.includes(name))).toEqual([]);
  });

  test('gives a reason for every dependency', () => {
    const reasons = text.slice(text.indexOf('## Dependencies'));
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, object>;
    const named = (name: string) =>
      reasons.includes(`\`${name}\``) || reasons.includes(`\`${name.split('/')[0]}/*\``) || isSibling(name, reasons);
    const kinds = ['dependencies', 'optionalDependencies', 'devDependencies'];
    expect(kinds.flatMap(kind => Object.keys(manifest[kind] ?? {})).filter(name => !named(name))).toEqual([]);
  });
});

/** "`@scope/one`, `two`": the second is of the same scope. */
function isSibling(name: string, reasons: string): boolean {
  const [scope, rest] = name.split('/');
  return rest !== undefined && new RegExp(`\`${scope}/[^\`]+\`, \`${rest}\``).test(reasons);
}
