import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Bound,
  bindingKey,
  type CallFacts,
  callKey,
  lockOf,
  originKey,
  refusalKey,
} from '../../src/approvals/index.ts';

const word = fc.string({ maxLength: 12, unit: 'binary' });
const path = fc.record({ path: word, writable: fc.boolean() });
const bound: fc.Arbitrary<Bound> = fc.record({
  dialect: word,
  digest: word,
  target: fc.record({ kind: fc.constantFrom('main', 'tool', 'script', 'command'), name: word }),
  grant: fc.record({
    network: fc.oneof(
      fc.constantFrom({ kind: 'none' as const }, { kind: 'broker' as const }, { kind: 'public' as const }),
      fc.record({ kind: fc.constant('hosts' as const), hosts: fc.array(word, { maxLength: 2 }) }),
    ),
    secrets: fc.array(word, { maxLength: 2 }),
    workspace: fc.option(path),
    paths: fc.array(path, { maxLength: 2 }),
    isolated: fc.boolean(),
  }),
  image: fc.option(word),
  meaning: fc.option(word),
  locks: fc.array(word, { maxLength: 2 }).map(locks => locks.sort()),
});
const call: fc.Arbitrary<CallFacts> = fc.record({
  argv: fc.array(word, { maxLength: 3 }),
  cwd: word,
  env: fc.dictionary(word, word, { maxKeys: 2 }),
  stdin: fc.option(word),
  texts: fc.array(fc.record({ at: word, text: word }), { maxLength: 2 }),
  limits: fc.dictionary(word, fc.integer(), { maxKeys: 2 }),
});

/** Equal as values, whatever the order of their keys. */
const same = (a: unknown, b: unknown) => {
  try {
    expect(a).toEqual(b);
    return true;
  } catch {
    return false;
  }
};

describe('the keys of an answer', () => {
  test('are equal for equal things, and for nothing else', () => {
    fc.assert(
      fc.property(bound, bound, call, call, (a, b, x, y) => {
        expect(bindingKey(a) === bindingKey(b)).toBe(same(a, b));
        expect(callKey(a, x) === callKey(b, y)).toBe(same([a, x], [b, y]));
        expect(bindingKey(structuredClone(a))).toBe(bindingKey(a));
        expect(callKey(a, structuredClone(x))).toBe(callKey(a, x));
      }),
    );
  });

  test('every single field of what is bound changes both keys; the refusal has only content and target', () => {
    fc.assert(
      fc.property(
        bound,
        bound,
        call,
        fc.constantFrom('dialect', 'digest', 'target', 'grant', 'image', 'locks'),
        (a, b, x, field) => {
          const changed = { ...a, [field]: b[field] };
          fc.pre(!same(a, changed));
          expect(bindingKey(changed)).not.toBe(bindingKey(a));
          expect(callKey(changed, x)).not.toBe(callKey(a, x));
          // An entrypoint is a script as well: whoever calls it by its path calls the same file.
          const fileOf = ({ target: { kind, name } }: Bound) => [kind === 'main' ? 'script' : kind, name];
          const isRefused = changed.digest === a.digest && same(fileOf(changed), fileOf(a));
          expect(refusalKey(changed) === refusalKey(a)).toBe(isRefused);
        },
      ),
    );
  });

  test('no key of one kind is one of another', () => {
    fc.assert(
      fc.property(bound, call, (a, x) => {
        const keys = [bindingKey(a), refusalKey(a), callKey(a, x), originKey(a.dialect, a.digest, a.target.name)];
        expect(new Set(keys).size).toBe(4);
      }),
    );
  });

  test('packages that nobody has resolved are no packages that somebody has', () => {
    expect(lockOf('pip', null)).not.toBe(lockOf('pip', 'ab'.repeat(32)));
  });
});
