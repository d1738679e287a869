import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wholeCharacters } from '../../src/runs/characters.ts';

const cuts = fc.array(fc.tuple(fc.constantFrom('stdout' as const, 'stderr' as const), fc.nat(7)), { maxLength: 60 });

/** Both streams cut into pieces as a pipe might; answers what comes out. */
function pass(streams: { stdout: Buffer; stderr: Buffer }, plan: [keyof typeof streams, number][]) {
  const out: { stream: string; bytes: Buffer }[] = [];
  const whole = wholeCharacters((stream, bytes) => void out.push({ stream, bytes: Buffer.from(bytes) }));
  const at = { stdout: 0, stderr: 0 };
  const take = (stream: keyof typeof streams, count: number) => {
    whole.write(stream, streams[stream].subarray(at[stream], at[stream] + count));
    at[stream] += count;
  };
  for (const [stream, count] of plan) take(stream, count);
  for (const stream of ['stdout', 'stderr'] as const) take(stream, streams[stream].length);
  whole.end();
  const of = (name: string) => Buffer.concat(out.filter(({ stream }) => stream === name).map(({ bytes }) => bytes));
  return { out, stdout: of('stdout'), stderr: of('stderr') };
}

test('SB-10 text comes in whole characters, wherever it was cut', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', '\n', '\u0000') });
  fc.assert(
    fc.property(text, text, cuts, (one, two, plan) => {
      const { out, stdout, stderr } = pass({ stdout: Buffer.from(one), stderr: Buffer.from(two) }, plan);
      expect([stdout.toString(), stderr.toString()]).toEqual([one, two]);
      for (const { bytes } of out) expect(bytes.toString()).not.toContain('\ufffd');
    }),
  );
});

test('bytes that are no text pass as they are', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), fc.uint8Array({ maxLength: 60 }), cuts, (one, two, plan) => {
      const { stdout, stderr } = pass({ stdout: Buffer.from(one), stderr: Buffer.from(two) }, plan);
      expect([[...stdout], [...stderr]]).toEqual([[...one], [...two]]);
    }),
  );
});
