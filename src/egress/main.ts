import type { EgressRules } from './decide.ts';
import { createDial, resolveHost } from './dial.ts';
import type { EgressLimits } from './limits.ts';
import { createProxy } from './proxy.ts';
import { listenAt, sayLine, serveSettings } from './serve.ts';

/** The proxy's process: rules on the first line of stdin, events on stdout, and its end when stdin ends. */
export type Settings = { directory: string; rules: EgressRules; limits: EgressLimits; uid: number | null };

serveSettings<Settings>(({ directory, rules, limits, uid }) => {
  const server = createProxy({
    rules,
    limits,
    dial: createDial(resolveHost, limits.connectMs),
    onEvent: sayLine,
  });
  listenAt(server, directory, 'proxy.sock', uid, () => sayLine({ kind: 'ready' }));
});
