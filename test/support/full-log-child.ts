/**
 * `node full-log-child.ts DATA SKILL`, where DATA is a small file system: runs a skill that prints more than there is room for.
 * Prints one JSON document.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SkillboxError } from '../../src/base/index.ts';
import { openStore } from '../../src/store/index.ts';
import { newRecord, WRITER } from './record.ts';
import { openSkillbox, runSkill } from './skillbox.ts';

const [, , data = '', skill = ''] = process.argv;
const directory = join(data, 'data');
const skillbox = await openSkillbox(directory);
const told = await runSkill(skillbox, skill).then(
  ({ state }) => state,
  (error: unknown) => (error instanceof SkillboxError ? error.code : String(error)),
);
await skillbox.close();
const later = await openSkillbox(directory);
const list = async () =>
  (await later.listRuns({ states: null, limit: 10 })).map(({ state, error }) => [state, error?.code]);
const listed = await list();
const { wrong } = await later.audit.verify(null, null);
const store = openStore(directory, WRITER);
await store.runs.insert(newRecord({ state: 'running', owner: 'of nobody who lives' }), []);
await store.close();
try {
  writeFileSync(join(data, 'filler'), Buffer.alloc(64 * 1024 * 1024));
} catch {
  // full to the last byte
}
const whenFull = await list();
await later.close();
process.stdout.write(JSON.stringify({ told, listed, wrong, whenFull }));
