import { spawn } from 'node:child_process';
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { renderSize, SkillboxError, visibleLine } from '../base/index.ts';
import type { SkillSource } from './registry-shelf.ts';

/** How far fetching may go; `signal` ends it when a person wants no more of it. */
export type FetchLimits = {
  maxBytes: number;
  timeoutMs: number;
  signal: AbortSignal | null;
  /** Asks a person whether an MCP server may be started as a program, and gives its directory. Null: none may. */
  start: ((command: readonly string[]) => Promise<string>) | null;
  /** The key for an MCP server; null where there is none. */
  keyFor: (url: URL) => string | null;
  /** Opens the registry that names with a version are looked for in. Null: there is none. */
  registry: (() => Promise<SkillSource>) | null;
  /** The key for a site with an index; null for every site but the server that is set up. */
  siteKey: (url: URL) => string | null;
};
export const FETCH_LIMITS: FetchLimits = {
  maxBytes: 512 * 1024 ** 2,
  timeoutMs: 120_000,
  signal: null,
  start: null,
  keyFor: () => null,
  registry: null,
  siteKey: () => null,
};

/** How often the growing repository is measured; git itself has no bound for what it fetches. */
const MEASURE_MS = 100;
const MAX_OUTPUT = 64 * 1024 ** 2;

/**
 * What no repository and no setting may change: no hooks, no programs that watch files, no submodules, no transport but those
 * of `parseSource`, and no question to whoever sits there.
 */
const SETTINGS: readonly string[] = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.askPass=',
  'credential.interactive=false',
  'fetch.recurseSubmodules=false',
  'fetch.fsckObjects=true',
  'transfer.fsckObjects=true',
  'transfer.bundleURI=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'protocol.version=2',
  'protocol.allow=never',
  'protocol.https.allow=always',
  'protocol.http.allow=always',
  'protocol.ssh.allow=always',
  'protocol.file.allow=always',
  'http.followRedirects=initial',
  'http.lowSpeedLimit=1000',
  'http.lowSpeedTime=30',
];

/** Threat: GIT_DIR, GIT_EXTERNAL_DIFF, GIT_PROXY_COMMAND and their kin turn git into something else. */
function environment(): NodeJS.ProcessEnv {
  const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));
  return {
    ...own,
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'true',
    SSH_ASKPASS: 'true',
    GIT_SSH_COMMAND: 'ssh -oBatchMode=yes -oStrictHostKeyChecking=yes -oPermitLocalCommand=no',
    GIT_ALLOW_PROTOCOL: 'https:http:ssh:file',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    LC_ALL: 'C',
  };
}

/** Runs git on a bare repository of our own; `input` goes to its standard input. */
export async function runGit(
  repository: string,
  words: readonly string[],
  limits: FetchLimits,
  input = '',
): Promise<Buffer> {
  const args = [...SETTINGS.flatMap(setting => ['-c', setting]), `--git-dir=${repository}`, ...words];
  // In a group of its own: what git starts (ssh, index-pack) ends with it.
  const child = spawn('git', args, { cwd: repository, env: environment(), stdio: 'pipe', detached: true });
  let stopped: SkillboxError | null = null;
  const stop = (why: string, code: 'SOURCE_FAILED' | 'CANCELED' = 'SOURCE_FAILED') => {
    stopped ??= new SkillboxError(code, why);
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // it has ended already
    }
  };
  const output = collect(child.stdout, () => stop('git answered more than fits'));
  const errors = collect(child.stderr, () => undefined);
  const clock = setTimeout(() => stop(`git took longer than ${limits.timeoutMs / 1000} seconds`), limits.timeoutMs);
  const scale = setInterval(() => {
    if (bytesBelow(repository) > limits.maxBytes) stop(`the repository is over ${renderSize(limits.maxBytes)}`);
  }, MEASURE_MS);
  const interrupt = () => stop('it was interrupted', 'CANCELED');
  limits.signal?.addEventListener('abort', interrupt);
  if (limits.signal?.aborted === true) interrupt();
  child.stdin.on('error', () => undefined); // git ended before it read everything; its exit code says why
  child.stdin.end(input);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (bytesBelow(repository) > limits.maxBytes) stop(`the repository is over ${renderSize(limits.maxBytes)}`);
    if (stopped !== null) throw stopped;
    if (code === 0) return output();
    const said = visibleLine(
      errors()
        .toString('utf8')
        .replace(/^(?:fatal|error): /gm, '')
        .replaceAll('\r', ''),
      300,
    );
    throw new SkillboxError('SOURCE_FAILED', `git failed: ${said === '' ? `exit code ${code}` : said}`);
  } catch (cause) {
    if (cause instanceof SkillboxError) throw cause;
    throw new SkillboxError('SOURCE_FAILED', 'git could not be started', { cause, hint: 'Install git.' });
  } finally {
    clearTimeout(clock);
    clearInterval(scale);
    limits.signal?.removeEventListener('abort', interrupt);
  }
}

function collect(stream: NodeJS.ReadableStream, onTooMuch: () => void): () => Buffer {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MAX_OUTPUT) chunks.push(chunk);
    else onTooMuch();
  });
  return () => Buffer.concat(chunks);
}

function bytesBelow(directory: string): number {
  let bytes = 0;
  const pending = [directory];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    try {
      for (const entry of readdirSync(next, { withFileTypes: true })) {
        const path = join(next, entry.name);
        if (entry.isDirectory()) pending.push(path);
        else bytes += lstatSync(path).size;
      }
    } catch {
      // git renames its files while we look; the next look sees them
    }
  }
  return bytes;
}
