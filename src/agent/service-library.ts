import { ERRORS, isForCallers, SkillboxError } from '../base/index.ts';
import type { Bytes, Run, Service, SkillDetail, StartRequest } from '../service/index.ts';
import type { BundledFile, Library } from './library.ts';
import { checkReadable, missing, noFile } from './local-library.ts';
import { type LogReader, reportRun, type Words } from './run-report.ts';
import type { Wanted } from './run-target.ts';
import type { Shelf } from './shelf.ts';
import type { CallContext } from './tool.ts';

export type ServiceLibraryOptions = {
  service: Service;
  /** Everything that the tenant offers, whatever this caller may see of it. */
  shelf: Shelf;
  /** How long a run is waited for; then the answer is that it goes on. */
  waitMs: number;
  /** The server is ending: what its clients lose by that is not what they wanted to end. */
  isStopping: () => boolean;
  /** Told of what callers are not told. */
  onFault: (error: unknown) => void;
};

const MAX_FILES = 100;
const SKILL_FILE = 'SKILL.md';

/** Said to an agent that talks to a server: who answers there is somebody else, with a key of their own. */
const WORDS: Words = {
  show: id => `skillbox approve show ${id} --server URL, or GET /v1/approvals/${id}`,
  allow: id => `skillbox approve allow ${id} --server URL, or POST /v1/approvals/${id}`,
  log: id => `skillbox exec logs ${id} --server URL, or GET /v1/executions/${id}/logs`,
  who: 'somebody else must allow it, whose key has the scope approve',
};

/** The published skills of a tenant, for one of its callers: what REST does for them, and nothing else. */
export function createServiceLibrary(options: ServiceLibraryOptions): Library {
  const { service, shelf } = options;
  const { skills, catalog, runs } = service;
  const readLogs = logsOf(service);
  /** What is hidden from models is not there for them, by whatever tool. */
  const describe = async (name: string): Promise<SkillDetail> => {
    const { byName, skills: all } = await shelf.offered();
    return byName.has(name) ? skills.describe(name, null) : missing(name, all.length);
  };
  const library: Library = {
    async activate(name, had) {
      const { version, digest, files } = await describe(name);
      const others = files.filter(({ path }) => path !== SKILL_FILE).map(({ path, bytes }) => ({ path, size: bytes }));
      const shown = {
        name,
        directory: `registry:${name}`,
        server: null,
        files: others.slice(0, MAX_FILES),
        filesLeftOut: Math.max(0, others.length - MAX_FILES),
        fingerprint: digest,
      };
      if (had === digest) return { ...shown, tokens: 0, text: null };
      const { text, tokens } = await catalog.activate(name, version);
      return { ...shown, tokens, text };
    },
    read: async (name, path) => readFile(service, await describe(name), path.replace(/^\.\//, '')),
    async open(name) {
      const { version, digest, files } = await describe(name);
      return {
        files: files.map(({ path, bytes }) => ({ path, size: bytes })),
        read: async (path, maxBytes) => collect((await skills.file(name, version, path)).content, maxBytes),
        digest,
        close: () => undefined,
      };
    },
    async tellActivated(name) {
      await catalog.activate(name, null);
    },
    async run(name, wanted, context) {
      const detail = await describe(name);
      const { dialect, tools } = detail;
      const scripts = detail.scripts.map(path => ({ path }));
      const request = toRequest(detail, wanted({ name, dialect, tools, scripts }));
      const started = await runs.start(request, { idempotencyKey: null });
      return reportRun(await waitFor(started, context, options), readLogs, WORDS);
    },
    getRun: async id => reportRun(await runs.get(id), readLogs, WORDS),
  };
  return withClosedFaults(library, options.onFault);
}

function toRequest({ name, version }: SkillDetail, { target, input, stdin, timeoutMs }: Wanted): StartRequest {
  if (target.kind === 'command')
    throw new SkillboxError('INVALID_CALL', `"${name}" takes no words on a server`, { hint: 'Leave out arguments.' });
  return { skill: name, version, target, input, stdin, env: {}, timeoutMs };
}

function isSettled({ state }: Run): boolean {
  return state === 'waiting' || state === 'success' || state === 'failed' || state === 'timeout';
}

/** Until it has ended, waits for a person, or takes too long. A call that its client gives up ends its run. */
async function waitFor(
  started: Run,
  { signal, onOutput }: CallContext,
  { service: { runs }, waitMs, isStopping }: ServiceLibraryOptions,
): Promise<Run> {
  if (isSettled(started)) return started;
  const over = AbortSignal.timeout(waitMs);
  const end = signal === null ? over : AbortSignal.any([signal, over]);
  const { id } = started;
  let run = started;
  if (onOutput === null) run = await runs.wait(id, { timeoutMs: waitMs, signal: end });
  else {
    for await (const event of runs.follow(id, { offset: 0, signal: end })) {
      if (event.kind === 'log') onOutput(event.line.text);
      else run = event.run;
      if (isSettled(run)) break;
    }
  }
  if (signal?.aborted === true && !isSettled(run) && !isStopping()) await runs.cancel(id);
  return isSettled(run) ? run : runs.get(id);
}

async function readFile({ skills }: Service, detail: SkillDetail, path: string): Promise<BundledFile> {
  const { name, version, dialect, files } = detail;
  const entry = files.find(file => file.path === path);
  if (entry === undefined) throw noFile(name, path);
  const file = { path, size: entry.bytes, kind: kindOf(detail, path) };
  checkReadable(detail, file);
  const otherwise = `GET /v1/skills/${encodeURIComponent(name)}/${encodeURIComponent(version)}/files/${path.split('/').map(encodeURIComponent).join('/')} gives it`;
  const isAsset = dialect === 'workspace' && file.kind === 'asset';
  const content = isAsset ? null : await collect((await skills.file(name, version, path)).content, file.size);
  return { skill: name, dialect, ...file, content, otherwise };
}

/** By its folder, as the formats have it. */
function kindOf({ scripts }: SkillDetail, path: string): string {
  if (scripts.includes(path)) return 'script';
  const [folder = ''] = path.split('/', 1);
  return KINDS[folder] ?? 'other';
}
const KINDS: Readonly<Record<string, string>> = { references: 'reference', assets: 'asset', examples: 'example' };

async function collect(content: Bytes, maxBytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of content) {
    bytes += part.length;
    if (bytes > maxBytes) throw new SkillboxError('FILE_TOO_LARGE', `the file has more than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function logsOf({ runs }: Service): LogReader {
  return async (id, offset) => {
    const { lines, offset: next } = await runs.logs(id, offset);
    return { entries: lines.map(({ stream, text }) => ({ stream, bytes: Buffer.from(text) })), offset: next };
  };
}

/** Threat: a fault of the server's own speaks of its paths and statements. The log has it; an agent is told that there was one. */
function withClosedFaults(library: Library, onFault: (error: unknown) => void): Library {
  const closed =
    <A extends unknown[], T>(body: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      try {
        return await body(...args);
      } catch (error) {
        if (isForCallers(error)) throw error;
        onFault(error);
        const code = error instanceof SkillboxError ? error.code : 'INTERNAL';
        throw new SkillboxError(code, 'the server could not do this; its log says why', { hint: ERRORS[code].hint });
      }
    };
  return {
    activate: closed(library.activate),
    read: closed(library.read),
    open: closed(library.open),
    tellActivated: closed(library.tellActivated),
    run: closed(library.run),
    getRun: closed(library.getRun),
  };
}
