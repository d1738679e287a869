import { describe, expect, it, onTestFinished } from 'vitest';
import { openParts } from '../../src/parts.ts';
import { clearPlaces, newPlace, noPostgres } from '../support/postgres.ts';
import { openService, publish, startOf } from '../support/service.ts';
import { NO_SANDBOX, optionsOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
clearPlaces();

/** A server on PostgreSQL, with a folder for blobs. */
async function openShared() {
  const place = await newPlace();
  const data = tempDir('shared');
  const masterKey = { kind: 'text' as const, text: 'ab'.repeat(32), from: 'SKILLBOX_MASTER_KEY' };
  const parts = openParts({ ...optionsOf(data, 'bubblewrap', 0), masterKey }, undefined, await place.open());
  const service = await openService(['a'], { data, parts });
  onTestFinished(() => service.close());
  return { place, service, a: service.as('a') };
}

describe.skipIf(noPostgres !== null || NO_SANDBOX)('runs on PostgreSQL', { timeout: 60_000 }, () => {
  it('a line reaches whoever follows when it is printed, not with the next one', async () => {
    const { a } = await openShared();
    await publish(a, { name: 'talks', body: 'echo one\nsleep 30\necho two\n' });
    const run = await a.runs.start(startOf('talks'), { idempotencyKey: null });
    let waitedMs: number | null = null;
    for await (const event of a.runs.follow(run.id, { offset: 0, signal: AbortSignal.timeout(10_000) })) {
      if (event.kind !== 'log') continue;
      waitedMs = Date.now() - event.line.timeMs;
      break;
    }
    await a.runs.cancel(run.id);
    expect(waitedMs).toBeLessThan(5000);
    expect((await a.runs.wait(run.id, { timeoutMs: 20_000, signal: null })).ending).toEqual({ kind: 'canceled' });
  });
});
