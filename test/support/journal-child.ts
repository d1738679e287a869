/** A process that writes to a journal: `node journal-child.ts PLACE NAME COUNT`. Says what was answered, by line. */
import { writeSync } from 'node:fs';
import { newEvent } from './events.ts';
import { openPlace } from './place.ts';
import { newRecord } from './record.ts';

const [, , place = '', name = '', count = '0'] = process.argv;
const store = await openPlace(place);
for (let at = 0; at < Number(count); at++) {
  const event = newEvent({ subject: `${name}-${at}`, tenant: at % 5 === 0 ? 'shared' : null });
  // Both ways to write, and both kinds of flush.
  if (at % 2 === 0) await store.journal.append(event);
  else {
    const record = newRecord({ state: 'running' });
    await store.runs.insert(record, []);
    await store.runs.update(record, [event]);
  }
  writeSync(1, `${name}-${at}\n`);
}
await store.close();
