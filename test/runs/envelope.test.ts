import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Excerpt, makeEnvelope } from '../../src/runs/envelope.ts';
import type { Ending } from '../../src/skill/index.ts';

/** GB-13 as it is written: over 4,096 bytes the first 2,048, the marker, the last 2,048, cut at character borders. */
function naive(bytes: Buffer): { text: string; truncated: boolean } {
  if (bytes.length <= 4096) return { text: bytes.toString('utf8'), truncated: false };
  const characters = Array.from(bytes.toString('utf8'));
  const take = (from: string[]): string[] => {
    const taken: string[] = [];
    let size = 0;
    for (const character of from) {
      size += Buffer.byteLength(character);
      if (size > 2048) break;
      taken.push(character);
    }
    return taken;
  };
  const first = take(characters).join('');
  const last = take(characters.toReversed()).toReversed().join('');
  const missing = bytes.length - Buffer.byteLength(first) - Buffer.byteLength(last);
  return { text: `${first}\n... [truncated ${missing} bytes] ...\n${last}`, truncated: true };
}

function excerptOf(chunks: readonly Buffer[]): { text: string; truncated: boolean } {
  const excerpt = new Excerpt();
  for (const chunk of chunks) excerpt.add(chunk);
  return excerpt.render();
}

const alphabet = fc.constantFrom('a', '\n', 'é', '€', '😀', '\u0000', '𐍈');
const text = fc
  .tuple(fc.array(alphabet, { maxLength: 40 }), fc.integer({ min: 1, max: 400 }), fc.array(alphabet, { maxLength: 9 }))
  .map(([piece, times, end]) => piece.join('').repeat(times) + end.join(''));

describe('excerpt', () => {
  test('GB-13 equals its definition for any text in any chunks', () => {
    fc.assert(
      fc.property(
        text,
        fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 20 }),
        (value, sizes) => {
          const bytes = Buffer.from(value);
          const chunks: Buffer[] = [];
          for (let at = 0, turn = 0; at < bytes.length; turn++) {
            const size = sizes[turn % sizes.length] ?? 1;
            chunks.push(bytes.subarray(at, at + size));
            at += size;
          }
          expect(excerptOf(chunks)).toEqual(naive(bytes));
        },
      ),
    );
  });

  test.each([4095, 4096, 4097])('GB-13 around the border: %i bytes', size => {
    const bytes = Buffer.alloc(size, 'x');
    expect(excerptOf([bytes])).toEqual(naive(bytes));
    expect(excerptOf([bytes]).truncated).toBe(size > 4096);
  });

  test('GB-13 bytes that are no text are cut without reading on', () => {
    const { text: shown, truncated } = excerptOf([Buffer.alloc(10_000, 0x80)]);
    expect(truncated).toBe(true);
    expect(shown).toMatch(/\[truncated \d+ bytes\]/);
  });

  test('GB-13 a chunk that its sender uses again does not change what was kept', () => {
    const excerpt = new Excerpt();
    const chunk = Buffer.alloc(3000, 'a');
    excerpt.add(chunk);
    chunk.fill('b');
    excerpt.add(chunk);
    expect(excerpt.render().text).toBe(naive(Buffer.concat([Buffer.alloc(3000, 'a'), chunk])).text);
  });
});

describe('envelope', () => {
  const envelope = (ending: Ending, stdout: string, truncated = false) => {
    const merged = new Excerpt();
    merged.add(Buffer.from(stdout));
    return makeEnvelope(ending, merged, { text: Buffer.from(stdout), truncated }, 12.6);
  };
  const exited = (code: number): Ending => ({ kind: 'exited', code });

  test('GB-14 success', () => {
    expect(envelope(exited(0), 'done\n')).toEqual({
      success: true,
      exit_code: 0,
      output: 'done\n',
      truncated: false,
      duration_ms: 13,
    });
  });

  test('GB-14 parsed is there when the whole stdout is JSON, and only then', () => {
    expect(envelope(exited(0), ' {"a":[1]}\n').parsed).toEqual({ a: [1] });
    expect(envelope(exited(1), 'null').parsed).toBeNull();
    for (const stdout of ['', ' \n', '{"a":1} trailing', 'NaN', '[1,]', '['.repeat(200) + ']'.repeat(200)])
      expect(envelope(exited(0), stdout), stdout).not.toHaveProperty('parsed');
  });

  test('GB-14 what a limit cut off is not the whole stdout, even where it reads as JSON', () => {
    expect(envelope(exited(0), '12', true)).not.toHaveProperty('parsed');
    for (const kind of ['timeout', 'canceled', 'output-limit', 'out-of-memory'] as const)
      expect(envelope({ kind }, '12'), kind).not.toHaveProperty('parsed');
    expect(envelope({ kind: 'signaled', signal: 'SIGKILL' }, '12')).not.toHaveProperty('parsed');
  });

  test.each<[Ending, string]>([
    [exited(1), 'exit code 1'],
    [exited(126), 'Permission denied'],
    [exited(127), 'not found'],
    [{ kind: 'timeout' }, 'Timeout'],
    [{ kind: 'canceled' }, 'Canceled'],
    [{ kind: 'out-of-memory' }, 'Memory'],
    [{ kind: 'output-limit' }, 'Output'],
    [{ kind: 'disk-limit' }, 'Disk'],
    [{ kind: 'pids-limit' }, 'Process'],
    [{ kind: 'signaled', signal: 'SIGSEGV' }, 'SIGSEGV'],
    [{ kind: 'interrupted' }, 'interrupted'],
  ])('GB-15/16 %j has no success, keeps its output and names the cause', (ending, cause) => {
    const { success, error, output } = envelope(ending, 'partial');
    expect(success).toBe(false);
    expect(output).toBe('partial');
    expect(error).toContain(cause);
  });
});
