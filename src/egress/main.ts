import { chmodSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { EgressRules } from './decide.ts';
import { createDial, resolveHost } from './dial.ts';
import type { EgressLimits } from './limits.ts';
import { createProxy } from './proxy.ts';

/** The proxy's process: rules on the first line of stdin, events on stdout, and its end when stdin ends. */
export type Settings = { directory: string; rules: EgressRules; limits: EgressLimits; uid: number | null };

const say = (value: unknown) => void process.stdout.write(`${JSON.stringify(value)}\n`);
const lines = createInterface({ input: process.stdin });

lines.once('line', line => {
  const settings = JSON.parse(line) as Settings; // from our own parent
  const server = createProxy({
    rules: settings.rules,
    limits: settings.limits,
    dial: createDial(resolveHost, settings.limits.connectMs),
    onEvent: say,
  });
  // By a relative name: a unix socket's path has room for 107 bytes, and a data directory may be deeper.
  process.chdir(settings.directory);
  server.listen('proxy.sock', () => {
    // For whichever uid the run has; on the host the directory keeps everyone out, and a mount is given to one run.
    chmodSync('proxy.sock', 0o666);
    if (settings.uid !== null) leaveRoot(settings.uid);
    say({ kind: 'ready' });
  });
});
// Threat: a proxy that outlives its Skillbox would keep a way out open that nobody owns.
lines.once('close', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));

/** It parses what a hostile run sends; root would be too much for that. */
function leaveRoot(uid: number): void {
  process.setgroups?.([]);
  process.setgid?.(uid);
  process.setuid?.(uid);
}
