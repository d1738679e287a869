import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../src/client/index.ts';
import type { Service } from '../../src/service/index.ts';

const PROGRAM = join(import.meta.dirname, '../../src/cli/skillbox.ts');

/** The program itself on a data directory and a port of its own, which it keeps when it is killed and started again. */
export class ServedProgram {
  readonly data: string;
  readonly url: string;
  readonly #port: number;
  readonly #env: Record<string, string>;
  /** Of every process that it was. */
  readonly pids: number[] = [];
  #child: ChildProcess | null = null;
  #said = '';

  private constructor(data: string, port: number, env: Record<string, string>) {
    this.data = data;
    this.#port = port;
    this.#env = env;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(data: string, env: Record<string, string> = {}): Promise<ServedProgram> {
    const served = new ServedProgram(data, await freePort(), env);
    await served.start();
    return served;
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [PROGRAM, 'serve', '--port', String(this.#port)], {
      env: { PATH: process.env.PATH ?? '', HOME: this.data, SKILLBOX_DATA_DIR: this.data, ...this.#env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    if (child.pid !== undefined) this.pids.push(child.pid);
    this.#said = '';
    child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      this.#said += piece;
    });
    for (const deadline = Date.now() + 60_000; !this.#said.includes('Serving at'); await sleep(20)) {
      if (child.exitCode !== null || Date.now() > deadline) throw new Error(`it does not serve: ${this.#said}`);
    }
  }

  /** At once, whatever it is doing. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  /** The key that it made at its first start, with every scope. */
  firstKey(): string {
    return readFileSync(join(this.data, 'first-key'), 'utf8').trim();
  }

  client(key: string): Service {
    return createClient({ url: this.url, key });
  }

  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
