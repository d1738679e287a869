/** A runtime in a process of its own, so that it can be killed: `node run-child.ts DATA SKILL INPUT`. Prints states and ids by line. */
import { writeSync } from 'node:fs';
import { openSkillbox, runSkill, textOf } from './skillbox.ts';

const [, , data = '', skill = '', input = 'null'] = process.argv;
const skillbox = await openSkillbox(data);
const record = await runSkill(skillbox, skill, {
  input: JSON.parse(input),
  onState: ({ id, state }) => writeSync(1, `${state} ${id}\n`),
  onChunk: () => writeSync(1, 'printed\n'),
});
writeSync(1, `said ${JSON.stringify(await textOf(skillbox, record))}\n`);
await skillbox.close();
