import { createHash } from 'node:crypto';
import { type JsonValue, SkillboxError, stableJson } from '../base/index.ts';
import { toRun } from '../executions/index.ts';
import { describePlan, foreseeRun, type RunRequest, runnerFor } from '../runs/index.ts';
import type { Run, RunService, StartRequest } from '../service/index.ts';
import { isEnded, type RunKey, type RunRecord } from '../store/index.ts';
import { limitOf, readCursor, toCursor, toPage } from './pages.ts';
import type { Member, ServiceParts } from './parts.ts';
import type { OpenSkill } from './skills.ts';

const LOG_BYTES = 1024 ** 2;
const MAX_URL_SECONDS = 7 * 86_400;

/** Runs of one tenant, in this process. */
export function createRunService(parts: ServiceParts, caller: Member): RunService {
  const { executions, machine, published } = parts;
  const { store } = machine;
  const find = (id: string) => requireRun(parts, caller, id);
  const withSkill = async <T>(
    { skill, version }: StartRequest,
    body: (opened: OpenSkill) => Promise<T>,
  ): Promise<T> => {
    const opened = await published.open(caller, skill, version);
    try {
      return await body(opened);
    } finally {
      opened.folder.close();
    }
  };
  return {
    async start(request, { idempotencyKey }) {
      const key = idempotencyKey === null ? null : keyOf(idempotencyKey, request, executions.keyMs);
      const earlier = key === null ? null : await executions.findKey(caller, key);
      if (earlier !== null) return toRun(earlier);
      const release = await parts.hold(caller.tenant, Buffer.byteLength(JSON.stringify(request)));
      let isKept = false;
      try {
        return await withSkill(request, async opened => {
          const run = toRun(await executions.submit(caller, toRequest(request, opened), key));
          // What waits keeps its request; what has begun does not.
          isKept = run.state === 'waiting' || run.state === 'queued';
          return run;
        });
      } finally {
        release(isKept);
      }
    },
    plan: request =>
      withSkill(request, async opened => {
        const runner = runnerFor(machine, caller);
        const wanted = toRequest(request, opened);
        return describePlan(await foreseeRun(runner, wanted), 'caller');
      }),
    async wait(id, { timeoutMs, signal }) {
      const record = await find(id);
      const isSettled = ({ state }: Pick<Run, 'state'>) => isEnded(state) || state === 'waiting';
      if (isSettled(record)) return toRun(record);
      const deadline = timeoutMs === null ? null : Date.now() + timeoutMs;
      const feed = executions.feeds.open(record);
      try {
        while (!isSettled(feed.run) && signal?.aborted !== true) {
          const left = deadline === null ? null : deadline - Date.now();
          if (left !== null && left <= 0) break;
          await feed.nextState(signal, left);
        }
        return feed.run;
      } finally {
        executions.feeds.close(feed);
      }
    },
    get: async id => toRun(await find(id)),
    async list({ states, skill, since, ...paging }) {
      const limit = limitOf(paging);
      const query = { states, skill, since, limit: limit + 1, after: readCursor(paging.after) };
      const { items, next } = toPage(await store.runs.list(caller.tenant, query), limit, toCursor);
      return { items: items.map(toRun), next };
    },
    async logs(id, offset) {
      const record = await find(id);
      checkOffset(offset);
      const { entries, offset: next } = await store.logs.read(id, offset, LOG_BYTES);
      const lines = entries.map(({ stream, timeMs, bytes }) => ({ stream, timeMs, text: bytes.toString('utf8') }));
      const isLast = isEnded(record.state) && (await store.logs.read(id, next, 1)).entries.length === 0;
      return { lines, offset: next, complete: isLast };
    },
    async *follow(id, { offset, signal }) {
      checkOffset(offset);
      const feed = executions.feeds.open(await find(id));
      try {
        yield* feed.follow(offset, signal);
      } finally {
        executions.feeds.close(feed);
      }
    },
    cancel: async id => executions.cancel(caller, await find(id)),
    async artifact(id, path) {
      const artifact = artifactOf(await find(id), path);
      const content = await store.blobs.read(artifact.sha256);
      if (content === null) throw new SkillboxError('NOT_FOUND', `${artifact.path} is not kept any more`);
      return { artifact, content };
    },
    async artifactUrl(id, path, seconds) {
      const artifact = artifactOf(await find(id), path);
      if (!Number.isInteger(seconds) || seconds < 1 || seconds > MAX_URL_SECONDS)
        throw new SkillboxError('USAGE', `a link holds for 1 to ${MAX_URL_SECONDS} seconds`);
      return store.blobs.url(artifact.sha256, {
        filename: artifact.path.split('/').at(-1) ?? 'artifact',
        contentType: path === null ? 'application/gzip' : 'application/octet-stream',
        seconds,
        tenant: caller.tenant,
      });
    },
  };
}

/** What is another tenant's is not there. */
export async function requireRun({ machine }: ServiceParts, { tenant }: Member, id: string): Promise<RunRecord> {
  const record = await machine.store.runs.get(tenant, id);
  if (record === null) throw new SkillboxError('NOT_FOUND', 'there is no such run');
  return record;
}

function keyOf(key: string, request: StartRequest, keyMs: number): RunKey {
  const fingerprint = createHash('sha256')
    .update(stableJson(request as unknown as JsonValue)) // plain data all through
    .digest('hex');
  return { key, fingerprint, since: Date.now() - keyMs };
}

function toRequest(request: StartRequest, { skill, folder }: OpenSkill): RunRequest {
  const { target, input, stdin, env, timeoutMs, capabilities = [] } = request;
  // Nothing of the server's own surroundings reaches a skill: no workspace, none of its variables.
  const call = { target, input, stdin, mode: 'Global' as const, callerEnv: {} };
  return { skill, folder, call, env, workspace: null, timeoutMs, capabilities };
}

function artifactOf({ id, artifacts, archive }: RunRecord, path: string | null) {
  const found =
    path !== null
      ? artifacts.find(artifact => artifact.path === path)
      : archive === null
        ? undefined
        : { path: `${id}.tar.gz`, ...archive };
  if (found === undefined)
    throw new SkillboxError('NOT_FOUND', path === null ? 'the run has no artifacts' : 'the run has no such artifact');
  return found;
}

function checkOffset(offset: number): void {
  if (Number.isSafeInteger(offset) && offset >= 0) return;
  throw new SkillboxError('USAGE', 'an offset is a whole number from 0', {
    hint: 'Give one that an answer has named.',
  });
}
