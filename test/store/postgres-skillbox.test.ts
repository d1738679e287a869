import { randomBytes } from 'node:crypto';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Skillbox } from '../../src/app.ts';
import type { StoreChoice } from '../../src/store/index.ts';
import { newTool, person, SAYS } from '../support/approvals.ts';
import { clearPlaces, newPlace, noPostgres, type Place } from '../support/postgres.ts';
import { NO_SANDBOX, openSkillbox, runSkill, textOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
clearPlaces();

const choiceOf = (place: Place): StoreChoice => ({
  kind: 'postgres',
  url: () => place.url,
  settings: { connections: 4 },
  blobs: { kind: 'disk', sign: null },
});
const keyOf = (text: string) => ({ kind: 'text' as const, text, from: 'SKILLBOX_MASTER_KEY' });

/** A Skillbox with a data directory of its own, as another machine has; blobs are shared, as a bucket would be. */
function onMachine(place: Place, masterKey: ReturnType<typeof keyOf> | { kind: 'keyring' } | null): Promise<Skillbox> {
  const data = tempDir('machine');
  symlinkSync(place.blobs, join(data, 'blobs'));
  const changes = { store: choiceOf(place), ...(masterKey === null ? {} : { masterKey }) };
  return openSkillbox(data, 'bubblewrap', 0, undefined, null, changes);
}

describe.skipIf(noPostgres !== null || NO_SANDBOX)('a Skillbox on PostgreSQL', () => {
  it('without the key that machines share it does not start, and says what to set', async () => {
    const place = await newPlace();
    await expect(onMachine(place, null)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      hint: expect.stringContaining('SKILLBOX_MASTER_KEY'),
    });
    await expect(onMachine(place, { kind: 'keyring' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(onMachine(place, keyOf('no key'))).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
  });

  it('what was approved on one machine counts on another with the same key, and on one with another key nothing does', {
    timeout: 60_000,
  }, async () => {
    const place = await newPlace();
    const key = keyOf(randomBytes(32).toString('hex'));
    const path = newTool();
    const asked = person('always');
    const first = await onMachine(place, key);
    const run = await runSkill(first, path, { ...SAYS, ask: asked.ask });
    expect([run.state, asked.seen.length]).toEqual(['success', 1]);
    await first.close();
    const second = await onMachine(place, key);
    const again = await runSkill(second, path, { ...SAYS, ask: null });
    expect(again.state).toBe('success');
    expect((await second.listRuns({ states: null, limit: 10 })).map(({ id }) => id)).toEqual([again.id, run.id]);
    // What the first one printed is read on the second.
    expect(await textOf(second, run)).toBe('first: hello\n');
    expect((await second.audit.verify(null, null)).wrong).toBeNull();
    await second.close();
    const stranger = await onMachine(place, keyOf(randomBytes(32).toString('hex')));
    const told = await runSkill(stranger, path, { ...SAYS, ask: null });
    expect(told.state).toBe('waiting');
    await expect(stranger.approvals.answers()).rejects.toMatchObject({ code: 'APPROVALS_ALTERED' });
    await stranger.close();
  });
});
