import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readRecentSkills } from '../../src/recent.ts';
import { openStore } from '../../src/store/index.ts';
import { newEvent } from '../support/events.ts';
import { newRecord, WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const DIGEST = `sb1-sha256:${'0'.repeat(64)}`;

test('what was run or activated, the latest first and once; nothing of tenants, and the store stays as it is', async () => {
  const directory = tempDir('recent');
  const store = openStore(directory, WRITER);
  const runs = async (name: string, createdAt: number, tenant: string | null = null) => {
    const skill = { name, version: '1.0.0', digest: DIGEST, dialect: 'skillbox' as const };
    await store.runs.insert(newRecord({ skill, createdAt, tenant }), []);
  };
  const activates = (subject: string, tenant: string | null = null) =>
    store.journal.append(
      newEvent({
        type: 'skill.activated',
        subject,
        tenant,
        data: { digest: DIGEST, dialect: 'skillbox', client: 'test' },
      }),
    );
  const now = Date.now();
  await runs('oldest', now - 3000);
  await runs('twice', now - 2000);
  await runs('older', now - 1000);
  await activates('chosen');
  await runs('twice', now + 60_000);
  await runs('of-a-tenant', now, 'acme');
  await activates('chosen-by-a-tenant', 'acme');
  // While others have it open, and after them.
  const wanted = ['twice', 'chosen', 'older', 'oldest'];
  expect(await readRecentSkills(join(directory, 'skillbox.db'))).toEqual(wanted);
  await store.close();
  expect(await readRecentSkills(join(directory, 'skillbox.db'))).toEqual(wanted);
});

test('no store, no names', async () => {
  expect(await readRecentSkills(join(tempDir('recent'), 'skillbox.db'))).toEqual([]);
});
