import { chmodSync } from 'node:fs';
import type { Server } from 'node:http';

/** The first line of a program that is loaded and waits for its settings. */
export const UP = 'up';

/** The other half of `startChild`: the settings on the first line of stdin, lines on stdout, and the end when stdin ends. */
export function serveSettings<T>(
  start: (settings: T) => void,
  finish: () => Promise<void> = async () => undefined,
): void {
  const { createInterface } = process.getBuiltinModule('node:readline');
  const lines = createInterface({ input: process.stdin });
  lines.once('line', line => start(JSON.parse(line) as T)); // from our own parent
  // Threat: a proxy that outlives its Skillbox would keep a way out open that nobody owns.
  lines.once('close', () => void finish().finally(() => process.exit(0)));
  process.stdout.on('error', () => process.exit(0));
  process.stdout.write(`${UP}\n`);
}

export function sayLine(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Listens at `name` in the directory, and then gives up root: what a hostile run sends is parsed without it. */
export function listenAt(server: Server, directory: string, name: string, uid: number | null, ready: () => void): void {
  // By a relative name: a unix socket's path has room for 107 bytes, and a data directory may be deeper.
  process.chdir(directory);
  server.listen(name, () => {
    // For whichever uid the run has; on the host the directory keeps everyone out, and a mount is given to one run.
    chmodSync(name, 0o666);
    if (uid !== null) {
      process.setgroups?.([]);
      process.setgid?.(uid);
      process.setuid?.(uid);
    }
    ready();
  });
}
