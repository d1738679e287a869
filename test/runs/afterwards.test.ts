import { describe, expect, test } from 'vitest';
import { createAfterwards } from '../../src/runs/index.ts';

describe('what is done after a run has its result', () => {
  test('is not waited for, and is done when all is settled', async () => {
    const afterwards = createAfterwards();
    let finish = () => {};
    let done = false;
    const work = new Promise<void>(resolve => {
      finish = resolve;
    }).then(() => {
      done = true;
    });
    await afterwards.add(work);
    expect(done).toBe(false);
    finish();
    await afterwards.settled();
    expect(done).toBe(true);
  });

  test('is waited for when too much of it piles up', async () => {
    const afterwards = createAfterwards();
    const finish: (() => void)[] = [];
    for (let turn = 0; turn < 32; turn++) await afterwards.add(new Promise<void>(resolve => finish.push(resolve)));
    let added = false;
    const more = afterwards.add(new Promise<void>(resolve => finish.push(resolve))).then(() => {
      added = true;
    });
    await new Promise(resolve => setImmediate(resolve));
    expect(added).toBe(false);
    finish[0]?.();
    await more;
    for (const end of finish) end();
    await afterwards.settled();
  });

  test('that failed is told once, when all is settled', async () => {
    const afterwards = createAfterwards();
    await afterwards.add(Promise.reject(new Error('busy')));
    await expect(afterwards.settled()).rejects.toThrow('busy');
    await afterwards.settled();
  });
});
