import { SkillboxError, visibleLine } from '../base/index.ts';
import { type Call, dashedSlots } from '../dialects/index.ts';
import type { Skill } from '../skill/index.ts';
import { depthOfValue, MAX_JSON_DEPTH } from './json-output.ts';

const MAX_INPUT_BYTES = 16 * 1024 ** 2;
/** Linux takes 128 KiB for one word, and as a rule a quarter of an 8 MiB stack for all of them; half of that is ours. */
const MAX_WORD_BYTES = 128 * 1024;
const MAX_ALL_BYTES = 1024 ** 2;
/** The sandbox's helper takes 4,096 arguments and as many variables, some of which are its own. */
const MAX_WORDS = 4000;

/** Whoever calls, by whatever entrance: what they hand over is bounded before anything is made of it. */
export function checkCall({ input }: Call): void {
  if (depthOfValue(input, MAX_JSON_DEPTH) > MAX_JSON_DEPTH) {
    throw new SkillboxError('INVALID_CALL', `the input is nested deeper than ${MAX_JSON_DEPTH} levels`);
  }
  const bytes = Buffer.byteLength(JSON.stringify(input ?? null));
  if (bytes > MAX_INPUT_BYTES) {
    throw new SkillboxError('INVALID_CALL', `the input has ${bytes} bytes; at most ${MAX_INPUT_BYTES} are taken`, {
      hint: 'Put the data into the workspace, or split it.',
    });
  }
}

/** SK-04, SK-05: what a skill declares and nobody can read is never left out in silence. */
export function requireRead({ needs: { unread = [] } }: Skill): void {
  const [first] = unread;
  if (first === undefined) return;
  const more = unread.length === 1 ? '' : `, nor are ${unread.length - 1} others`;
  const message = `what the skill declares as ${visibleLine(JSON.stringify(first), 120)} is no capability${more}`;
  throw new SkillboxError('CAPABILITY_UNKNOWN', message, {
    hint: 'A skill has all that it declares, or does not run. `skillbox skill lint` shows what is wrong with it.',
    details: { capability: first.slice(0, 200) },
  });
}

/** GB-09 under a strict policy: a value that the program could take for an option is refused. */
export function refuseDashed(skill: Skill, { target }: Call): void {
  const tool = target.kind === 'tool' ? skill.tools.find(({ name }) => name === target.name) : undefined;
  const [slot] = target.kind === 'tool' && tool !== undefined ? dashedSlots(tool, target.arguments) : [];
  if (slot === undefined) return;
  throw new SkillboxError('INVALID_CALL', `the value of "${slot.parameter}" begins with "-"`, {
    hint: 'The policy is strict: such a value could be taken for an option. Write ./ before a file name.',
  });
}

/** What Linux or the sandbox would refuse when the program is started, told before. */
export function checkSizes(argv: readonly string[], env: Readonly<Record<string, string>>): void {
  if (argv.some(word => word.includes('\0'))) throw new SkillboxError('INVALID_CALL', 'an argument holds a NUL');
  const most = Math.max(argv.length, Object.keys(env).length);
  if (most > MAX_WORDS)
    throw new SkillboxError('INVALID_CALL', `the call has ${most} arguments or variables; at most ${MAX_WORDS}`, {
      hint: 'Pass the data by --input or in a file.',
    });
  const words = [...argv, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  const sizes = words.map(word => Buffer.byteLength(word) + 1);
  const longest = sizes.reduce((most, size) => Math.max(most, size), 0);
  if (longest > MAX_WORD_BYTES) {
    throw new SkillboxError('INVALID_CALL', `an argument or variable has ${longest} bytes; Linux takes 128 KiB`, {
      hint: 'Pass the data by --input or in a file.',
    });
  }
  const all = sizes.reduce((sum, size) => sum + size, 0);
  if (all > MAX_ALL_BYTES) {
    throw new SkillboxError('INVALID_CALL', `arguments and variables have ${all} bytes; at most ${MAX_ALL_BYTES}`, {
      hint: 'Pass the data by --input or in a file.',
    });
  }
}
