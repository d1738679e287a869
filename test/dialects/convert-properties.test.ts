import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isObject, type JsonValue } from '../../src/base/index.ts';
import { type Conversion, convertSkill, type Loss } from '../../src/dialects/convert.ts';
import { readSkill } from '../../src/dialects/index.ts';
import { DIALECTS, type DialectName, type Folder, openDirectory, type Skill } from '../../src/skill/index.ts';
import { tempDirectory, writeFiles } from '../temp.ts';
import { randomSkill, sourceFiles } from './random-skill.ts';

const RUNS = Number(process.env.SKILLBOX_PROPERTY_RUNS ?? 60);
const root = tempDirectory();
let count = 0;

/** Calls `use` with a directory of the right name, which is gone afterwards. */
function inFolder<Result>(files: Record<string, string | Buffer>, use: (folder: Folder) => Result): Result {
  const parent = join(root, String(count++));
  const folder = openDirectory(writeFiles(join(parent, 'demo'), files));
  try {
    return use(folder);
  } finally {
    folder.close();
    rmSync(parent, { recursive: true });
  }
}

function load(folder: Folder): { skill: Skill | null; dialect: DialectName | null } {
  return readSkill(folder, { mode: 'lenient', dialect: null });
}

function filesOf(conversion: Conversion, source: Folder): Record<string, string | Buffer> {
  return Object.fromEntries(
    conversion.files.map(file => [
      file.executable ? `${file.path}*` : file.path,
      file.source === 'text' ? file.text : source.read(file.from, 1 << 20),
    ]),
  );
}

/** Mappings that say as much when they are empty as when they are not there. */
const CONTAINERS = new Set(['extra', 'extra.metadata', 'extra.extra', 'about.metadata']);

/** Every leaf of the model by its path. Written apart from the code under test, which must not judge itself. */
function leaves(skill: Skill): Map<string, string> {
  const { dialect: _dialect, tools, scripts, resources, about, ...rest } = skill;
  const metadata: Record<string, JsonValue> = { ...about.metadata };
  if (metadata.version === skill.version) delete metadata.version;
  if (metadata.author === about.author) delete metadata.author;
  const found = new Map<string, string>();
  const walk = (path: string, value: JsonValue): void => {
    const empty = isObject(value) && Object.keys(value).length === 0 && !CONTAINERS.has(path);
    if (!isObject(value) || empty) found.set(path, JSON.stringify(value));
    else for (const [key, inner] of Object.entries(value)) walk(path === '' ? key : `${path}.${key}`, inner);
  };
  walk('', { ...rest, about: { ...about, metadata } });
  for (const { name, description, parameters, template } of tools) {
    found.set(`tools.${name}`, JSON.stringify([description, parameters, template]));
  }
  for (const { path, ...script } of scripts) found.set(`scripts.${path}`, JSON.stringify(script));
  for (const { path, ...resource } of resources) found.set(`resources.${path}`, JSON.stringify(resource));
  return found;
}

function differences(a: Skill, b: Skill): string[] {
  const [before, after] = [leaves(a), leaves(b)];
  return [...new Set([...before.keys(), ...after.keys()])].filter(path => before.get(path) !== after.get(path));
}

const covers = (named: string, path: string): boolean =>
  path === named || path.startsWith(`${named}.`) || named.startsWith(`${path}.`);

function unnamed(paths: readonly string[], losses: readonly Loss[]): string[] {
  const named = losses.flatMap(({ field, kept }) => (kept === null ? [field] : [field, kept]));
  return paths.filter(path => !named.some(name => covers(name, path)));
}

const textOf = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Every value somewhere in a mapping, as JSON and as text. */
function valuesIn(value: JsonValue): string[] {
  const own = [JSON.stringify(value), textOf(value)];
  const inner = isObject(value) ? Object.values(value) : Array.isArray(value) ? value : [];
  return [...own, ...inner.flatMap(valuesIn)];
}

function checkRoundTrip(skill: Skill, folder: Folder, to: DialectName): void {
  const there = convertSkill(skill, folder, to);
  inFolder(filesOf(there, folder), folderThere => {
    const { skill: result, dialect } = load(folderThere);
    expect(dialect).toBe(to);
    if (result === null) throw new Error('the result does not load');
    expect(result).toEqual(there.skill);
    const changed = differences(skill, result);
    expect(unnamed(changed, there.losses)).toEqual([]);
    const claimed = there.losses.filter(({ field }) => field !== 'comments' && !field.startsWith('frontmatter'));
    expect(claimed.filter(({ field }) => !changed.some(path => covers(field, path)))).toEqual([]);
    checkExtra(skill, result);
    expect(gainedPower(skill, result)).toEqual([]);
    const back = convertSkill(result, folderThere, skill.dialect);
    inFolder(filesOf(back, folderThere), folderBack => {
      const again = load(folderBack);
      expect(again.dialect).toBe(skill.dialect);
      if (again.skill === null) throw new Error('the way back does not load');
      expect(unnamed(differences(skill, again.skill), [...there.losses, ...back.losses])).toEqual([]);
    });
  });
}

/** what the result asks for and the source did not. */
function gainedPower({ needs: before }: Skill, { needs: after }: Skill): unknown[] {
  const rank = { none: 0, broker: 1, open: 2 };
  const had = new Set([...before.secrets, ...before.allowedTools].map(asked => JSON.stringify(asked)));
  return [
    ...[...after.secrets, ...after.allowedTools].filter(asked => !had.has(JSON.stringify(asked))),
    ...(rank[after.network] > rank[before.network] ? [after.network] : []),
    ...(after.readOnly && !before.readOnly ? ['read_only'] : []),
  ];
}

/** the value of every unknown field is still there, wherever it stands. */
function checkExtra(skill: Skill, result: Skill): void {
  const { extra, about, version, offer } = result;
  const held = new Set([extra, about.metadata, { ...about }, version, { ...offer }].flatMap(valuesIn));
  const inTags = (value: JsonValue) =>
    typeof value === 'string' && value.split(',').every(tag => held.has(tag.trim()) || tag.trim() === '');
  for (const [key, value] of Object.entries(skill.extra)) {
    const shelf = (key === 'metadata' || key === 'extra') && isObject(value);
    const kept = shelf
      ? Object.values(value).every(inner => held.has(JSON.stringify(inner)) || held.has(textOf(inner)) || inTags(inner))
      : held.has(JSON.stringify(value)) || held.has(textOf(value)) || inTags(value) || typeof value === 'boolean';
    expect([key, value, kept]).toEqual([key, value, true]);
  }
}

describe.each(DIALECTS)('converting to %s and back', to => {
  test('X-07 X-11 X-12 keeps what the loss report does not name, and names nothing that was kept', () => {
    fc.assert(
      fc.property(randomSkill, random => {
        inFolder(sourceFiles(random), folder => {
          const { skill } = load(folder);
          fc.pre(skill !== null);
          if (skill !== null) checkRoundTrip(skill, folder, to);
        });
      }),
      { numRuns: RUNS },
    );
  });
});
