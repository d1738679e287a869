import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Io } from '../src/cli/io.ts';
import { main } from '../src/cli/main.ts';
import { trustIn } from './support/trust.ts';

/** What ships with Skillbox is trusted as that, not as the user's. */
const EXAMPLES = join(import.meta.dirname, '../examples');

export type Ran = { code: number; out: string; err: string };

/**
 * Runs a command line in this process, as a person without a terminal would. `own`: the skill that `run` names is the user's
 * own, trusted by its path beforehand. `answers` are typed on a terminal.
 */
export async function run(
  words: string[],
  options: {
    cwd?: string;
    answers?: string[];
    env?: Record<string, string>;
    own?: boolean;
    stdin?: string | Buffer;
    interrupt?: AbortSignal;
  } = {},
): Promise<Ran> {
  const ran = { code: 0, out: '', err: '' };
  const data = options.env?.SKILLBOX_DATA_DIR;
  if (options.own === true && words[0] === 'run' && data !== undefined) {
    const skill = resolve(options.cwd ?? process.cwd(), words[1] ?? '');
    if (existsSync(skill) && !skill.startsWith(EXAMPLES)) trustIn(data, skill);
  }
  const answers = [...(options.answers ?? [])];
  const io: Io = {
    out: text => {
      ran.out += text;
    },
    err: text => {
      ran.err += text;
    },
    paint: (_style, text) => text,
    interactive: options.answers !== undefined,
    cwd: options.cwd ?? process.cwd(),
    env: options.env ?? {},
    interrupt: options.interrupt ?? new AbortController().signal,
    ask: async (_question, fallback) => answers.shift() ?? fallback,
    askPerson: async question => {
      ran.err += question;
      return answers.shift() ?? null;
    },
    askSecret: async question => {
      ran.err += question;
      const typed = answers.shift();
      return typed === undefined ? null : Buffer.from(typed);
    },
    readStdin: async maxBytes => {
      const bytes = Buffer.from(options.stdin ?? '');
      return bytes.length > maxBytes ? null : bytes;
    },
    columns: 80,
    rows: 24,
  };
  ran.code = await main(words, io, '9.9.9');
  return ran;
}
