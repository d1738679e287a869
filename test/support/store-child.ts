/** A process that uses a store until it is killed: `node store-child.ts PLACE insert|blob`. Says what it has done, by line. */
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPlace } from './place.ts';
import { newRecord } from './record.ts';

const [, , place = '', task = ''] = process.argv;
const store = await openPlace(place);

async function* slowly(): AsyncGenerator<Buffer> {
  for (let at = 0; ; at++) {
    yield Buffer.alloc(1000, at);
    if (at === 3) writeSync(1, 'writing\n');
    if (at > 3) await sleep(5);
  }
}

if (task === 'blob') await store.blobs.put(slowly());
else {
  for (let at = 0; at < Number(task); at++) {
    const record = newRecord({ warnings: ['x'.repeat(at % 5000)] });
    await store.runs.insert(record, []);
    // Said only when the store has answered: what was said must be found again.
    writeSync(1, `${record.id}\n`);
    if (at % 3 === 0) await store.runs.update({ ...record, state: 'success' }, []);
  }
  await store.close();
}
