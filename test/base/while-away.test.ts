import { expect, test } from 'vitest';
import { SkillboxError, whileAway } from '../../src/base/index.ts';

const away = () => new SkillboxError('BACKEND_UNAVAILABLE', 'it is started anew');

/** Fails so often with these, one after the other, and then answers how often it was asked. */
function failing(...faults: unknown[]): () => Promise<number> {
  let asked = 0;
  return async () => {
    const fault = faults[asked++];
    if (fault !== undefined) throw fault;
    return asked;
  };
}

test('what is away is asked again until it is back', async () => {
  expect(await whileAway(5000, failing(away(), away()))).toBe(3);
});

test('any other fault is told at once, also of what was away before', async () => {
  const full = new SkillboxError('UNWRITABLE', 'the disk is full');
  await expect(whileAway(5000, failing(full))).rejects.toBe(full);
  await expect(whileAway(5000, failing(away(), full))).rejects.toBe(full);
  await expect(whileAway(5000, failing(new Error('ours')))).rejects.toThrow('ours');
});

test('patience has an end', async () => {
  const faults = Array.from({ length: 100 }, away);
  await expect(whileAway(120, failing(...faults))).rejects.toBe(faults[1]);
});
