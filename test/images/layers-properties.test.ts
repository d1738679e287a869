import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { dockerParts, tarOf } from './make-image.ts';
import { dir, file, hard, link, makeTar, type TarItem } from './make-tar.ts';
import { Scratch } from './scratch.ts';

const scratch = new Scratch();

const NAMES = ['a', 'b', 'c'];
const path = fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }).map(names => names.join('/'));

// The table below writes a directory as `/`, so no file's content is that.
const content = fc.string({ maxLength: 3 }).filter(data => data !== '/');

const item: fc.Arbitrary<TarItem> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(path, content).map(([name, data]) => file(name, data)) },
  { weight: 3, arbitrary: path.map(dir) },
  { weight: 1, arbitrary: fc.tuple(path, path).map(([name, target]) => link(name, target)) },
  { weight: 1, arbitrary: fc.tuple(path, path).map(([name, target]) => hard(name, target)) },
  { weight: 2, arbitrary: path.map(name => file(name.replace(/[abc]$/, '.wh.$&'), '')) },
  { weight: 1, arbitrary: path.map(name => file(`${name}/.wh..wh..opq`, '')) },
);

type Entry = { text: string; layer: number };

/**
 * The rules once more, in another way: a flat table of paths. Null where the image must be refused: an entry that leads
 * through what is no directory, or a hard link to nothing or to a directory.
 */
function expectTree(layers: readonly TarItem[][]): Record<string, string> | null {
  const table = new Map<string, Entry>();
  const below = (name: string) => [...table.keys()].filter(other => other.startsWith(`${name}/`));
  for (const [layer, items] of layers.entries()) {
    const above = (name: string) =>
      name
        .split('/')
        .slice(0, -1)
        .map((_part, n, all) => all.slice(0, n + 1).join('/'));
    const blocked = (name: string) => above(name).some(parent => (table.get(parent)?.text ?? '/') !== '/');
    const hide = (names: string[]) => {
      // Longest first, so that a directory is looked at when what was in it is gone.
      for (const name of names.sort((x, y) => y.length - x.length))
        if ((table.get(name)?.layer ?? layer) < layer && below(name).length === 0) table.delete(name);
    };
    const put = (name: string, text: string) => {
      for (const parent of above(name)) if (!table.has(parent)) table.set(parent, { text: '/', layer });
      if (text !== '/' || table.get(name)?.text !== '/') for (const child of below(name)) table.delete(child);
      table.set(name, { text, layer });
    };
    for (const { name: given, type, data, link: target = '' } of items) {
      const name = given.replace(/\/$/, '');
      const last = name.slice(name.lastIndexOf('/') + 1);
      const parent = name.slice(0, -last.length - 1);
      if (last.startsWith('.wh.')) {
        // A whiteout leads through its parent's parents; a parent that is no directory has nothing to remove.
        if (parent !== '' && blocked(parent) && isReached(table, parent)) return null;
        if (last === '.wh..wh..opq') hide(table.get(parent)?.text === '/' ? below(parent) : []);
        else if (parent === '' || table.get(parent)?.text === '/') {
          const victim = `${parent === '' ? '' : `${parent}/`}${last.slice(4)}`;
          hide([victim, ...below(victim)]);
        }
      } else {
        if (type === '1' && (blocked(target) || (table.get(target)?.text ?? '/') === '/')) return null;
        if (blocked(name)) return null;
        put(
          name,
          type === '5'
            ? '/'
            : type === '2'
              ? `-> ${target}`
              : type === '1'
                ? (table.get(target)?.text ?? '')
                : text(data),
        );
      }
    }
  }
  return Object.fromEntries([...table].map(([name, { text: seen }]) => [name, seen]));
}

const text = (data: string | Buffer | undefined) => Buffer.from(data ?? '').toString('latin1');

/** Whether the way to a path meets something that is no directory before it ends in nothing. */
function isReached(table: ReadonlyMap<string, Entry>, path: string): boolean {
  const parts = path.split('/');
  for (let n = 1; n < parts.length; n++) {
    const entry = table.get(parts.slice(0, n).join('/'));
    if (entry === undefined) return false;
    if (entry.text !== '/') return true;
  }
  return false;
}

describe('X-14 layers, any stack of them', () => {
  test('leave what the reference model says, or are refused where it refuses', async () => {
    const layers = fc.array(fc.array(item, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 });
    let applied = 0;
    await fc.assert(
      fc.asyncProperty(layers, async stack => {
        const expected = expectTree(stack);
        const data = tarOf(dockerParts(stack.map(layer => makeTar(layer))));
        const seen = await scratch.unpack(data).catch((error: unknown) => {
          if (error instanceof SkillboxError && error.code === 'IMAGE_UNSAFE') return error.details.reason;
          throw error;
        });
        if (expected === null) expect(seen).toMatch(/^(link-parent|file-parent|link-target)$/);
        else if (Object.keys(expected).length === 0) expect(seen).toBe('not-an-image');
        else {
          applied++;
          expect(seen).toEqual(expected);
        }
      }),
      { numRuns: 300 },
    );
    // The generator must not have drifted into stacks that are all refused.
    expect(applied).toBeGreaterThan(60);
  }, 60_000);
});
