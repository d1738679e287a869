import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { CATALOG_TOKENS, createLocalDesk, createShelf, type LocalDesk } from '../../agent/index.ts';
import type { Skillbox } from '../../app.ts';
import { EXIT, SkillboxError, visibleLine } from '../../base/index.ts';
import { loadConfig, SECRET_VARIABLES } from '../../config/index.ts';
import { type LocalWatch, watchLocalSkills } from '../../disclose.ts';
import { discloseOptions } from '../../local.ts';
import { callerOf, createHost, type Host, localCaller, serveStandardStreams, tellChanges } from '../../mcp/index.ts';
import { untrustedLines } from '../catalog-report.ts';
import type { Command, Input } from '../command.ts';
import { SANDBOX_OPTION, withSkillbox } from '../connect.ts';
import type { Io } from '../io.ts';
import { DIR_OPTION } from '../local-skills.ts';
import { VERSION } from '../version.ts';

export const mcpCommand: Command = {
  name: 'mcp',
  summary: 'Serve skills to an agent over MCP: on standard input and output, or by HTTP on this machine.',
  args: [],
  options: {
    http: { help: 'serve by HTTP on 127.0.0.1 at this port; 0 takes a free one', value: 'PORT' },
    'allow-key': {
      help: 'with --http: also let in this API key, with its scopes; can be repeated',
      value: 'ID',
      many: true,
    },
    workspace: { help: 'the directory for files and scripts; without it the roots of the client decide', value: 'DIR' },
    dir: DIR_OPTION,
    'workspace-names': { help: 'also offer the tools skill, skill_resource and skill_script' },
    sandbox: SANDBOX_OPTION,
  },
  examples: ['skillbox mcp --workspace .', 'SKILLBOX_MCP_KEY=… skillbox mcp --http 7007 --dir ./skills'],
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const port = portOf(input.value('http'));
  if (port === null && input.values('allow-key').length > 0)
    throw new SkillboxError('USAGE', '--allow-key is for --http', {
      hint: 'On standard input and output nobody shows a key.',
    });
  const key = port === null ? null : keyOf(io);
  return withSkillbox(io, skillbox => serve(input, io, skillbox, port, key), {
    sandbox: input.value('sandbox'),
  });
}

async function serve(input: Input, io: Io, skillbox: Skillbox, port: number | null, key: Key | null): Promise<number> {
  const named = input.value('workspace');
  const workspace = named === null ? null : skillbox.checkWorkspace(resolve(io.cwd, named));
  const watched = watchLocalSkills(discloseOptions(io, input.values('dir'), VERSION), event => {
    // The journal may be full; what is offered is then still right, and activations are refused.
    skillbox.note(event).catch(() => undefined);
  });
  try {
    const desk = createLocalDesk({
      skillbox,
      shelf: createShelf(() => watched.current(), { mode: 'Global', catalogTokens: CATALOG_TOKENS }),
      env: stringsOf(io.env),
      workspaceNames: input.flag('workspace-names'),
    });
    // Models are not told of them, so this is where a person learns why they are missing.
    for (const line of untrustedLines(watched.current().resolution.untrusted)) io.err(`${visibleLine(line, 600)}\n`);
    const isLocal = port === null || key === null;
    const user = localCaller(desk);
    const host = createHost({ desk, version: VERSION, workspace, callerOf: isLocal ? () => user : callerOf });
    try {
      if (isLocal) await overStreams(host, watched, io);
      else await overHttp({ host, desk, watched, port, key, keyIds: input.values('allow-key') }, io);
    } finally {
      // Runs that their client left are being ended; their ends are recorded before we go.
      await host.calls.idle();
    }
    return EXIT.ok;
  } finally {
    watched.close();
  }
}

async function overStreams(host: Host, watched: LocalWatch, io: Io): Promise<void> {
  const stop = tellChanges(
    () => watched.current(),
    host.live,
    () => undefined,
  );
  try {
    await serveStandardStreams(host, { input: process.stdin, output: process.stdout }, io.interrupt);
  } finally {
    stop();
  }
}

type OverHttp = {
  host: Host;
  desk: LocalDesk;
  watched: LocalWatch;
  port: number;
  key: Key;
  keyIds: readonly string[];
};

async function overHttp({ host, desk, watched, port, key: { key, made }, keyIds }: OverHttp, io: Io): Promise<void> {
  // The door of a server is loaded for this form alone.
  const { serveLoopback } = await import('../../loopback.ts');
  const people = keyIds.length === 0 ? null : await openKeys(io);
  try {
    const keys = people === null ? null : { callers: people.callers, ids: keyIds };
    const current = () => watched.current();
    const server = await serveLoopback({
      host,
      desk,
      current,
      port,
      key,
      keys,
      origins: loadConfig(io).get('server.origins'),
    });
    try {
      io.err(`Serving MCP at ${server.url}\n`);
      // One that came from the environment is known to whoever set it.
      if (made) io.err(`Clients send: Authorization: Bearer ${key}\n`);
      await new Promise<void>(end => {
        if (io.interrupt.aborted) end();
        io.interrupt.addEventListener('abort', () => end(), { once: true });
      });
    } finally {
      await server.close();
    }
  } finally {
    await people?.close();
  }
}

/** The keys that `skillbox key` looks after. */
async function openKeys(io: Io) {
  const { openPeople } = await import('../../people.ts');
  return openPeople(loadConfig({ env: io.env, role: 'server' }));
}

type Key = { key: string; made: boolean };

const MIN_KEY = 16;

function keyOf(io: Io): Key {
  const given = loadConfig(io).get('mcp.key')?.read();
  if (given === undefined) return { key: randomBytes(24).toString('base64url'), made: true };
  if (given.length < MIN_KEY || /\s/.test(given)) {
    throw new SkillboxError('USAGE', `SKILLBOX_MCP_KEY has fewer than ${MIN_KEY} characters, or blanks`, {
      hint: 'Leave it out, and one is made.',
    });
  }
  return { key: given, made: false };
}

function portOf(text: string | null): number | null {
  if (text === null) return null;
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new SkillboxError('USAGE', `--http "${text}" is no port`, { hint: 'A number from 0 to 65535.' });
}

function stringsOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const pairs = Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined);
  // Our own keys are for us and our clients, not for runs.
  return Object.fromEntries(pairs.filter(([name]) => !SECRET_VARIABLES.has(name)));
}
