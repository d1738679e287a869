import { isatty } from 'node:tty';
import { styleText } from 'node:util';
import { SkillboxError } from '../base/index.ts';
import { onInterrupt } from './on-interrupt.ts';
import { readStream } from './read-bounded.ts';

/** Where a command writes. Results go to `out`, everything meant for people beside them to `err`. */
export type Io = {
  out(text: string): void;
  err(text: string): void;
  paint: Paint;
  /** A person sits there: prompts and progress are welcome. */
  interactive: boolean;
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Aborted when a person presses Ctrl-C or closes the terminal, and by SIGTERM. */
  interrupt: AbortSignal;
  /** An empty line is the fallback; the end of input and Ctrl-C cancel the command. */
  ask(question: string, fallback: string): Promise<string>;
  /** What was typed before the question is thrown away; null at the end of input and for Ctrl-C. */
  askPerson(question: string): Promise<string | null>;
  /** One line that is not shown while it is typed; null at the end of input and for Ctrl-C. */
  askSecret(question: string): Promise<Buffer | null>;
  /** Standard input whole; null when it has more than this. An interrupt ends it. */
  readStdin(maxBytes: number): Promise<Buffer | null>;
  /** How wide and how high the terminal is now. */
  readonly columns: number;
  readonly rows: number;
};

type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green' | 'cyan' | 'blue';
export type Paint = (style: Style, text: string) => string;

export function processIo(): Io {
  // By number: asking a stream makes it, and standard input is rarely read.
  const [stdin, stdout, stderr] = [isatty(0), isatty(1), isatty(2)];
  const coloured = stdout && wantsColour(process.env);
  const interrupt = onInterrupt();
  return {
    out: text => writeOut(text),
    err: text => void process.stderr.write(text),
    paint: coloured ? (style, text) => styleText(style, text, { validateStream: false }) : (_style, text) => text,
    interactive: stdin && stdout && stderr,
    cwd: process.cwd(),
    env: process.env,
    interrupt,
    ask,
    askPerson,
    askSecret,
    readStdin: maxBytes => readStream(process.stdin, maxBytes, interrupt),
    // One that does not know its own size says zero.
    get columns() {
      return (stderr && process.stderr.columns) || 80;
    },
    get rows() {
      return (stderr && process.stderr.rows) || 24;
    },
  };
}

/** So much at a time: a long text would stand in memory a second time, as bytes. */
const WRITTEN_AT_ONCE = 64 * 1024;

function writeOut(text: string): void {
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = at + WRITTEN_AT_ONCE;
    // Two halves of one character stay together.
    if (end < text.length && /[\ud800-\udbff]/.test(text.charAt(end - 1))) end++;
    process.stdout.write(text.slice(at, end));
  }
}

function wantsColour(env: NodeJS.ProcessEnv): boolean {
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== '') return false;
  return env.TERM !== 'dumb';
}

/** Standard input of a person. When the terminal is closed its mode cannot be set back, which matters to nobody then. */
function keyboard(): typeof process.stdin {
  const { stdin } = process;
  if (stdin.listenerCount('error') === 0) stdin.on('error', () => undefined);
  return stdin;
}

async function ask(question: string, fallback: string): Promise<string> {
  const answer = await askLine(`${question}${fallback === '' ? '' : ` (${fallback})`} `);
  if (answer === null) throw new SkillboxError('CANCELED', 'nothing was answered');
  return answer || fallback;
}

/** Long enough for what stands in the terminal's buffer to arrive, too short to be noticed. */
const DRAIN_MS = 150;
const CTRL_C = 3;

async function askPerson(question: string): Promise<string | null> {
  return (await dropTyped()) ? null : askLine(question);
}

/** Null for Ctrl-C, Ctrl-D, and a terminal that is closed. */
async function askLine(question: string): Promise<string | null> {
  const { createInterface } = await import('node:readline');
  const prompt = createInterface({ input: keyboard(), output: process.stderr, historySize: 0 });
  const answer = await new Promise<string | null>(resolve => {
    prompt.once('close', () => resolve(null));
    prompt.on('error', () => resolve(null)); // what the keyboard's errors become
    prompt.question(question, typed => resolve(typed.trim()));
  });
  prompt.close();
  if (answer === null) process.stderr.write('\n');
  return answer;
}

const CTRL_D = 4;
const ERASE: readonly number[] = [8, 127];
const RETURN: readonly number[] = [10, 13];

/**
 * Raw, so that nothing is shown. A paste of several lines is refused as a whole: what follows the first would go to the shell,
 * and into its history.
 */
async function askSecret(question: string): Promise<Buffer | null> {
  const stdin = keyboard();
  process.stderr.write(question);
  stdin.setRawMode(true);
  const typed = await new Promise<Buffer | null>(resolve => {
    const bytes: number[] = [];
    let ended = false;
    const read = (chunk: Buffer) => {
      for (const byte of chunk) {
        if (byte === CTRL_C) return settle(null);
        // Both end it, also one after the other: what follows is no second line.
        if (RETURN.includes(byte) || byte === CTRL_D) ended = true;
        else if (ended) bytes.push(RETURN[0] ?? 0, byte);
        else if (ERASE.includes(byte)) eraseCharacter(bytes);
        else bytes.push(byte);
      }
      if (ended) setTimeout(() => settle(Buffer.from(bytes)), DRAIN_MS);
    };
    const settle = (answer: Buffer | null) => {
      stdin.off('data', read);
      resolve(answer);
    };
    stdin.on('data', read);
    stdin.once('end', () => settle(null));
    stdin.once('error', () => settle(null));
    stdin.resume();
  });
  stdin.pause();
  stdin.setRawMode(false);
  process.stderr.write('\n');
  return typed;
}

/** A character may be several bytes: all but its first begin with the bits 10. */
function eraseCharacter(bytes: number[]): void {
  while (((bytes.pop() ?? 0) & 0xc0) === 0x80);
}

/** Threat: an answer that was typed, or pasted, before anybody saw the question. True when it held a Ctrl-C. */
async function dropTyped(): Promise<boolean> {
  const stdin = keyboard();
  let interrupted = false;
  const drop = (bytes: Buffer) => {
    interrupted ||= bytes.includes(CTRL_C);
  };
  stdin.setRawMode(true);
  stdin.on('data', drop);
  stdin.resume();
  await new Promise(resolve => setTimeout(resolve, DRAIN_MS));
  stdin.off('data', drop);
  stdin.pause();
  stdin.setRawMode(false);
  return interrupted;
}
