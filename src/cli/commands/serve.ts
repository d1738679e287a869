import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT, visibleLine, writePrivateFile } from '../../base/index.ts';
import { type Flags, loadConfig } from '../../config/index.ts';
import type { Command, Input } from '../command.ts';
import { SANDBOX_OPTION } from '../connect.ts';
import type { Io } from '../io.ts';
import { VERSION } from '../version.ts';

export const serveCommand: Command = {
  name: 'serve',
  summary:
    'Serve skills to a team over HTTP: publish, run, follow, approve. Settings are in docs/configuration.md, a walk with curl in README.md.',
  args: [],
  options: {
    port: { help: 'the port to listen on; 0 takes a free one (8080)', value: 'PORT' },
    host: { help: 'the address to listen on (127.0.0.1)', value: 'HOST' },
    public: { help: 'allow an address that others can reach: put a proxy with TLS in front of it' },
    sandbox: SANDBOX_OPTION,
  },
  examples: ['skillbox serve', 'skillbox serve --host 0.0.0.0 --public'],
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const config = loadConfig({ env: io.env, role: 'server', flags: flagsOf(input) });
  // Everything that a server is made of is loaded for this command alone.
  const { openServer } = await import('../../server.ts');
  const server = await openServer({ config, place: io, version: VERSION, write: line => io.out(line) });
  try {
    const key = await server.makeFirstKey();
    if (key !== null) showFirstKey(key, config.get('data.directory'), io);
    io.err(`Serving at ${server.url}\nWhat it answers is described at ${server.url}/docs\n`);
    if (server.shortfall !== null) io.err(`warning: every run will be refused. ${server.shortfall}\n${WHAT_THEN}\n`);
    await interrupted(io.interrupt);
    io.err('Stopping. A second signal ends it at once.\n');
    if (!(await server.drain())) io.err('Something did not end in time and was cut off.\n');
    return EXIT.ok;
  } finally {
    await server.close();
  }
}

function flagsOf(input: Input): Flags {
  const [port, host, sandbox] = ['port', 'host', 'sandbox'].map(name => input.value(name));
  return {
    ...(typeof port === 'string' ? { 'server.port': port } : {}),
    ...(typeof host === 'string' ? { 'server.host': host } : {}),
    ...(typeof sandbox === 'string' ? { 'sandbox.driver': sandbox } : {}),
    ...(input.flag('public') ? { 'server.public': 'yes' } : {}),
  };
}

const WHAT_THEN =
  '  Start it as root or as a service (deploy/skillbox.service); docs/operations.md says what tenants need of the sandbox.';
const FIRST_KEY = 'first-key';

/** Threat: what a service prints ends in a log, which more people read than the server has users. */
function showFirstKey(key: string, dataDirectory: string, io: Io): void {
  if (io.interactive) {
    io.err(`This is the first key. It may do everything, and it is not shown again:\n\n  ${key}\n\n`);
    return;
  }
  const path = freeName(join(dataDirectory, FIRST_KEY));
  writePrivateFile(path, `${key}\n`);
  io.err(`The first key is in ${visibleLine(path)}: take it from there, and remove the file.\n`);
}

/** One of an earlier store may still lie there. */
function freeName(path: string): string {
  for (let i = 1; ; i++) {
    const name = i === 1 ? path : `${path}-${i}`;
    if (!existsSync(name)) return name;
  }
}

function interrupted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
