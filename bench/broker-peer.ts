// For bench/broker.ts: a relay that is written in C and made for nothing else, where it is installed. It looks at nothing but the path.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const PEER = 'haproxy';

/** On one thread, as the broker is, behind a unix socket; null where there is none. The first part of a path names the host. */
export async function startPeer(
  scratch: string,
  ports: Readonly<Record<string, number>>,
  root: string,
  host: string,
): Promise<{ socket: string; process: ChildProcess } | null> {
  if (spawnSync(PEER, ['-v']).status !== 0) {
    process.stderr.write(`${PEER} is left out: it is not installed\n`);
    return null;
  }
  const [socket, config, trusted] = ['peer.sock', 'peer.cfg', 'peer.pem'].map(name => join(scratch, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(trusted, root);
  const names = Object.keys(ports);
  const secure = ` ssl verify required ca-file ${trusted} sni str(${host}) verifyhost ${host}`;
  const backends = names.map(
    name => `backend ${name}
  http-request replace-path /[^/]+(/.*) \\1
  server host 127.0.0.1:${ports[name]}${name.endsWith('https') ? secure : ''}`,
  );
  writeFileSync(
    config,
    `global
  nbthread 1
defaults
  mode http
  http-reuse always
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend run
  bind unix@${socket}
${names.map(name => `  use_backend ${name} if { path_beg /${name}/ }`).join('\n')}
${backends.join('\n')}
`,
  );
  const child = spawn(PEER, ['-db', '-f', config], { stdio: ['ignore', 'ignore', 'inherit'] });
  while (!existsSync(socket)) {
    if (child.exitCode !== null) throw new Error(`${PEER} does not start`);
    await sleep(20);
  }
  return { socket, process: child };
}
