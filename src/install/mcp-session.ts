import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type SkillFile, SkillsClient, SkillVerificationError } from '@modelcontextprotocol/client/ext/skills';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { isObject, type JsonObject, parseYaml, SkillboxError, visibleLine, yamlToJson } from '../base/index.ts';
import type { FetchLimits } from './git.ts';
import type { McpEntry, McpFile, ServedSkill } from './mcp-entry.ts';
import { countingFetch } from './mcp-fetch.ts';
import { type McpServer, showServer } from './mcp-server.ts';

/** Only for who installs from an MCP server: this file loads the SDK, so it is imported when one is named. */

const PER_ANSWER = 64 * 1024 ** 2;
const MAX_PAGES = 200;
const MAX_SKILLS = 10_000;
const INVALID_PARAMS = -32602;

export type Listed = { skills: ServedSkill[]; invalid: { uri: string; reason: string }[] };

/** A connection to one server. Each call has a time of its own; whatever fails says the server's name. */
export interface McpSession {
  list(): Promise<Listed>;
  /** Null when the server has no such skill. */
  get(uri: string): Promise<ServedSkill | null>;
  /**
   * Gives the bytes of every file of the entry, SKILL.md first, each held against it: length, digest, and for SKILL.md the
   * frontmatter. The first that is not what was listed ends it.
   */
  read(skill: ServedSkill, entry: McpEntry, use: (file: McpFile, bytes: Uint8Array) => void): Promise<void>;
  close(): Promise<void>;
}

export async function connectMcp(server: McpServer, limits: FetchLimits): Promise<McpSession> {
  const shown = visibleLine(showServer(server), 200);
  const broken = new AbortController();
  const stop = (why: SkillboxError) => broken.abort(why);
  const client = new Client(
    { name: 'skillbox', version: '1' },
    // What a server asks of us, we have not: no questions to the user, no files, no model.
    {
      capabilities: {},
      versionNegotiation: { mode: 'auto' },
      listMaxPages: MAX_PAGES,
      inputRequired: { autoFulfill: false },
    },
  );
  const { transport, lastWords } = await transportTo(server, limits, stop);
  const skills = new SkillsClient(client, { parseFrontmatter, skipInvalid: true });

  const within = async <T>(what: string, ask: (options: { signal: AbortSignal; timeout: number }) => Promise<T>) => {
    const clock = AbortSignal.timeout(limits.timeoutMs);
    const signals = [clock, broken.signal, ...(limits.signal === null ? [] : [limits.signal])];
    try {
      return await ask({ signal: AbortSignal.any(signals), timeout: limits.timeoutMs });
    } catch (cause) {
      if (broken.signal.aborted) throw broken.signal.reason;
      if (limits.signal?.aborted === true) throw new SkillboxError('CANCELED', 'it was interrupted', { cause });
      if (clock.aborted) throw failed(`${shown} took longer than ${limits.timeoutMs / 1000} seconds to ${what}`, cause);
      throw translate(cause, server, what, lastWords());
    }
  };

  try {
    await within('connect', options => client.connect(transport, options));
    if (!skills.supported) {
      throw new SkillboxError('SOURCE_UNSUPPORTED', `${shown} is an MCP server, but it offers no skills`, {
        hint: 'It does not name the extension io.modelcontextprotocol/skills.',
      });
    }
  } catch (cause) {
    await client.close().catch(() => undefined); // what went wrong is told already
    throw cause;
  }
  return {
    list: () =>
      within('list its skills', async options => {
        const { skills: found, invalid } = await skills.list({}, options);
        if (found.length + invalid.length > MAX_SKILLS) throw failed(`${shown} lists more than ${MAX_SKILLS} skills`);
        return { skills: found, invalid: invalid.map(({ uri, reason }) => ({ uri: uri ?? '', reason })) };
      }),
    get: uri =>
      within(`tell of ${visibleLine(uri, 120)}`, async options => {
        try {
          return (await skills.get(uri, options)).skill;
        } catch (cause) {
          if (cause instanceof ProtocolError && cause.code === INVALID_PARAMS) return null;
          throw cause;
        }
      }),
    read: (skill, entry, use) =>
      within(`give ${visibleLine(entry.name, 80)}`, async options => {
        const held = entryFor(skill);
        for (const file of skillFileFirst(entry)) {
          const { bytes, verified }: SkillFile = await skills.read(held, file.uri, { ...options, cacheMode: 'bypass' });
          // The client has compared them; where it could not, nothing is used.
          if (!verified) throw failed(`${entry.name}: ${file.path} could not be compared`);
          use(file, bytes);
        }
      }),
    close: () => client.close(),
  };
}

/** The client's own type has lists that may be written to. */
function entryFor({ uri, frontmatter, resources }: ServedSkill) {
  return { uri, frontmatter, resources: resources === 'dynamic' ? resources : [...resources] };
}

function skillFileFirst({ uri, files }: McpEntry): McpFile[] {
  return [...files].sort((a, b) => Number(b.uri === uri) - Number(a.uri === uri));
}

async function transportTo(server: McpServer, limits: FetchLimits, stop: (why: SkillboxError) => void) {
  if (server.kind === 'http') {
    const url = new URL(server.url);
    const key = limits.keyFor(url);
    const transport = new StreamableHTTPClientTransport(url, {
      fetch: countingFetch({ perAnswer: PER_ANSWER, inAll: limits.maxBytes }, stop),
      redirectPolicy: 'same-origin',
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 0,
        maxReconnectionDelay: 0,
        reconnectionDelayGrowFactor: 1,
      },
      ...(key === null ? {} : { requestInit: { headers: { authorization: `Bearer ${key}` } } }),
    });
    return { transport, lastWords: () => '' };
  }
  if (limits.start === null)
    throw new SkillboxError('SOURCE_REFUSED', 'nobody can be asked whether to start a program');
  const cwd = await limits.start(server.command);
  const [command = '', ...args] = server.command;
  const transport = new StdioClientTransport({ command, args, cwd, stderr: 'pipe', maxBufferSize: PER_ANSWER });
  let said = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    said = `${said}${chunk.toString('utf8')}`.slice(-2000);
  });
  return { transport, lastWords: () => said.trim().split('\n').at(-1) ?? '' };
}

/** As the skill's own reader reads it: YAML 1.2, whatever the server made of it. */
function parseFrontmatter(text: string): JsonObject {
  const { node, problems } = parseYaml(text, 0);
  const value = node === null ? null : yamlToJson(node);
  if (value === null || !isObject(value) || problems.length > 0)
    throw new Error(problems[0]?.message ?? 'it is no mapping');
  // The comparison walks ordinary objects.
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

const REASONS = {
  unlisted: 'is no file of the skill',
  size: 'has another length than the server listed',
  digest: 'has another digest than the server listed',
  frontmatter: 'has another frontmatter than the server listed',
} as const;

function translate(cause: unknown, server: McpServer, what: string, lastWords: string): SkillboxError {
  const shown = visibleLine(showServer(server), 200);
  if (cause instanceof SkillboxError) return cause;
  if (cause instanceof SkillVerificationError) {
    const detail = cause.differences.length === 0 ? '' : `: ${visibleLine(cause.differences.join('; '), 200)}`;
    const message = `${visibleLine(cause.uri, 120)} ${REASONS[cause.reason]}${detail}`;
    return new SkillboxError('SOURCE_REFUSED', message, {
      hint: 'The skill was changed meanwhile, or the server does not tell the truth. Nothing was written.',
      cause,
    });
  }
  const why = visibleLine(reasonOf(cause), 200);
  if (/\b401\b|unauthor/i.test(`${cause instanceof Error ? cause.name : ''} ${why}`)) {
    return new SkillboxError('SOURCE_FAILED', `${shown} wants a key`, {
      hint: `Set SKILLBOX_MCP_KEYS=${server.kind === 'http' ? new URL(server.url).host : 'host'}=KEY; the key goes to that host only.`,
      cause,
    });
  }
  const words = lastWords === '' ? '' : ` It said: ${visibleLine(lastWords, 200)}`;
  return failed(`${shown} could not ${what}: ${why}${words}`, cause);
}

/** The innermost: "fetch failed" says nothing, what it failed of does. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const inner = error.cause === error ? '' : reasonOf(error.cause);
  return inner === '' ? error.message : inner;
}

function failed(message: string, cause?: unknown): SkillboxError {
  return new SkillboxError('SOURCE_FAILED', message, { cause });
}
