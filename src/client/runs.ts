import { shape } from '../base/index.ts';
import type { Run, RunService, StartOptions, StartRequest } from '../service/index.ts';
import { fromExecution, fromLogLine, fromStartRequest } from '../wire/index.ts';
import { CANCELED, EXECUTION, EXECUTION_SUMMARY, LOG, URL_ANSWER } from './answers.ts';
import { bytesOf, digestOf, lengthOf } from './bytes.ts';
import { followRun } from './follow.ts';
import { checkedKey, timeText } from './sent.ts';
import type { Transport } from './transport.ts';

/** How long the server is asked to hold an answer back; shorter than what proxies wait. */
const POLL_MS = 25_000;
/** The most that the server gives at once. */
export const MAX_PAGE = 500;
const ENDS: readonly Run['state'][] = ['success', 'failed', 'timeout'];

export function createRuns(transport: Transport): RunService {
  const path = (...parts: string[]) => ['v1', 'executions', ...parts];
  const look = async (id: string, waitMs: number, signal: AbortSignal | null): Promise<Run> =>
    fromExecution(
      await transport.json(
        {
          method: 'GET',
          path: path(id),
          query: { logs: false, wait_ms: waitMs === 0 ? null : waitMs },
          safety: 'always',
          signal,
        },
        EXECUTION,
      ),
    );
  return {
    start: (request, { idempotencyKey }) => startRun(transport, request, { idempotencyKey, signal: null }),
    plan: request =>
      transport.json(
        { method: 'POST', path: path('plan'), json: fromStartRequest(request), safety: 'always' },
        shape.object,
      ),
    async wait(id, { timeoutMs, signal }) {
      const until = timeoutMs === null ? Number.POSITIVE_INFINITY : Date.now() + timeoutMs;
      for (;;) {
        const left = Math.max(0, until - Date.now());
        const run = await look(id, Math.round(Math.min(left, POLL_MS)), signal);
        if (ENDS.includes(run.state) || run.state === 'waiting' || Date.now() >= until) return run;
      }
    },
    get: id => look(id, 0, null),
    async list({ states, skill, since, limit, after }) {
      const query = { state: states, skill, since: timeText(since), limit: Math.min(limit, MAX_PAGE), after };
      const ask = { method: 'GET', path: path(), query, safety: 'always' } as const;
      const page = await transport.json(ask, shape.pageOf(EXECUTION_SUMMARY));
      return { items: page.items.map(fromExecution), next: page.next };
    },
    async logs(id, offset) {
      const ask = { method: 'GET', path: path(id, 'logs'), query: { offset }, safety: 'always' } as const;
      const part = await transport.json(ask, LOG);
      return { ...part, lines: part.lines.map(fromLogLine) };
    },
    follow: (id, options) => followRun(transport, id, options),
    async cancel(id) {
      const ask = { method: 'POST', path: path(id, 'cancel'), safety: 'always' } as const;
      return (await transport.json(ask, CANCELED)).canceled;
    },
    async artifact(id, file) {
      const parts = file === null ? [id, 'artifacts.tar.gz'] : [id, 'artifacts', ...file.split('/')];
      const answer = await transport.bytes({
        method: 'GET',
        path: path(...parts),
        headers: { accept: '*/*' },
        safety: 'always',
      });
      const artifact = { path: file ?? `${id}.tar.gz`, bytes: lengthOf(answer), sha256: digestOf(answer) };
      return { artifact, content: bytesOf(answer) };
    },
    async artifactUrl(id, file, seconds) {
      const query = { path: file, seconds };
      const ask = { method: 'GET', path: path(id, 'artifact-url'), query, safety: 'always' } as const;
      return (await transport.json(ask, URL_ANSWER)).url;
    },
  };
}

export async function startRun(
  transport: Transport,
  request: StartRequest,
  { idempotencyKey, signal }: StartOptions & { signal: AbortSignal | null },
): Promise<Run> {
  // Asked twice with one key is run once: so it can be tried again.
  const headers = {
    prefer: 'respond-async',
    'idempotency-key': idempotencyKey === null ? newKey() : checkedKey(idempotencyKey),
  };
  const json = fromStartRequest(request);
  const ask = { method: 'POST', path: ['v1', 'executions'], headers, json, safety: 'always', signal } as const;
  return fromExecution(await transport.json(ask, EXECUTION));
}

function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('');
}
