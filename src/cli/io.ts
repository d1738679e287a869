import { styleText } from 'node:util';

/** Where a command writes. Results go to `out`, everything meant for people beside them to `err`. */
export type Io = {
  out(text: string): void;
  err(text: string): void;
  paint: Paint;
  /** A person sits there: prompts and progress are welcome. */
  interactive: boolean;
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Aborted when a person presses Ctrl-C. */
  interrupt: AbortSignal;
  ask(question: string, fallback: string): Promise<string>;
};

type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green' | 'cyan' | 'blue';
export type Paint = (style: Style, text: string) => string;

export function processIo(): Io {
  const coloured = process.stdout.isTTY === true && wantsColour(process.env);
  return {
    out: text => void process.stdout.write(text),
    err: text => void process.stderr.write(text),
    paint: coloured ? (style, text) => styleText(style, text, { validateStream: false }) : (_style, text) => text,
    interactive: process.stdin.isTTY === true && process.stdout.isTTY === true,
    cwd: process.cwd(),
    env: process.env,
    interrupt: onInterrupt(),
    ask,
  };
}

function wantsColour(env: NodeJS.ProcessEnv): boolean {
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false;
  return env.TERM !== 'dumb';
}

async function ask(question: string, fallback: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await prompt.question(`${question}${fallback === '' ? '' : ` (${fallback})`} `);
    return answer.trim() || fallback;
  } finally {
    prompt.close();
  }
}

/** The first Ctrl-C asks the command to end cleanly; the second is the shell's usual one. */
function onInterrupt(): AbortSignal {
  const controller = new AbortController();
  const stop = () => controller.abort();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  return controller.signal;
}
