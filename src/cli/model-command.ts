import { spawn } from 'node:child_process';
import { SkillboxError, visibleLine } from '../base/index.ts';
import type { Io } from './io.ts';

const MAX_ERROR_BYTES = 8 * 1024;
/** What a command has printed is read by then, once it has ended. */
const QUIET_MS = 1000;

/** How long a model may think, and how much it may say. */
export type ModelLimits = { timeoutMs: number; answerBytes: number };
export const MODEL_LIMITS: ModelLimits = { timeoutMs: 300_000, answerBytes: 1024 ** 2 };

export type Answered = { answer: string } | { problem: string };

/** The words of `--model`. No shell reads them: who needs quotes or pipes writes a script and names it. */
export function modelWords(command: string): [string, ...string[]] {
  const [program, ...words] = command.split(/\s+/).filter(word => word !== '');
  if (program === undefined) throw new SkillboxError('USAGE', '--model names no command');
  return [program, ...words];
}

/**
 * Asks a program of the user's own: the prompt on its standard input, the answer on its standard output. It runs as the user, not
 * in the sandbox, because models are reached with the user's keys.
 */
export function askModel(
  [program, ...words]: [string, ...string[]],
  prompt: string,
  skill: string,
  io: Io,
  { timeoutMs, answerBytes }: ModelLimits = MODEL_LIMITS,
): Promise<Answered> {
  return new Promise(resolve => {
    let late = false;
    const child = spawn(program, words, {
      cwd: io.cwd,
      env: { ...io.env, SKILLBOX_SKILL_DIR: skill },
      shell: false,
      stdio: 'pipe',
      killSignal: 'SIGKILL',
      signal: io.interrupt,
    });
    /** What the command has started may live on and hold the pipes: nobody waits for it. */
    const letGo = () => {
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const clock = setTimeout(() => {
      late = true;
      // One that has ended is not told any more.
      if (!child.kill('SIGKILL')) letGo();
    }, timeoutMs);
    let quiet: NodeJS.Timeout | null = null;
    const answer = new Kept(answerBytes);
    const errors = new Kept(MAX_ERROR_BYTES);
    child.stdout.on('data', (chunk: Buffer) => {
      quiet?.refresh();
      if (!answer.add(chunk) && !child.kill('SIGKILL')) letGo();
    });
    child.stderr.on('data', (chunk: Buffer) => errors.add(chunk));
    // A program may answer without reading all of the question.
    child.stdin.on('error', () => undefined);
    child.stdin.end(prompt);
    child.on('error', error => {
      clearTimeout(clock);
      resolve({ problem: `the model command cannot be run: ${visibleLine(error.message, 120)}` });
    });
    child.on('exit', (_code, signal) => {
      if (signal !== null) letGo();
      else quiet = setTimeout(letGo, QUIET_MS);
    });
    child.on('close', (code, signal) => {
      clearTimeout(clock);
      if (quiet !== null) clearTimeout(quiet);
      if (late) resolve({ problem: `the model command took longer than ${timeoutMs / 1000} s` });
      else if (answer.isFull) resolve({ problem: `the model command printed more than ${answerBytes} bytes` });
      else if (code === 0) resolve({ answer: answer.text() });
      else resolve({ problem: describeEnd(code, signal, errors.text()) });
    });
  });
}

function describeEnd(code: number | null, signal: string | null, errors: string): string {
  const last = errors.trim().split('\n').at(-1) ?? '';
  const said = last === '' ? '' : `: ${visibleLine(last, 120)}`;
  return `the model command ended with ${code === null ? `signal ${signal}` : `code ${code}`}${said}`;
}

class Kept {
  readonly #parts: Buffer[] = [];
  readonly #max: number;
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.#bytes > this.#max;
  }

  /** False once there is more than may be kept. */
  add(chunk: Buffer): boolean {
    if (!this.isFull) this.#parts.push(chunk.subarray(0, this.#max - this.#bytes));
    this.#bytes += chunk.length;
    return !this.isFull;
  }

  text(): string {
    return Buffer.concat(this.#parts).toString('utf8');
  }
}
