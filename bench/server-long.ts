// What takes longer than a request: a line of runs that is worked off, and a log that many follow.
import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from './measure.ts';
import type { BareRuns } from './server-runs.ts';
import { memoryOf, type Started } from './server-started.ts';

export type Table = { head: string[]; rows: string[][] };

const SENDERS = 32;

/** All are accepted first, as fast as they are taken; what is left then is worked off without anybody asking for more. */
export async function drainQueue(
  server: Started,
  bare: BareRuns,
  { runs, skill, slots }: { runs: number; skill: string; slots: number },
): Promise<Table> {
  const sandbox = await bare.finish(skill, Math.max(slots * 10, Math.min(500, runs)));
  const before = memoryOf(server.pid);
  const accepted = await sendAll(server, skill, runs);
  const left = (await counts(server)).waiting;
  const start = performance.now();
  let most = before;
  for (let state = left; state > 0; state = (await counts(server)).waiting) {
    most = Math.max(most, memoryOf(server.pid));
    await sleep(100);
  }
  const perSecond = (left / (performance.now() - start)) * 1000;
  const head = ['accepted /s', 'in line then', 'drained /s', 'sandbox alone /s', 'of it', 'memory before, at most MiB'];
  const share = `${((perSecond / sandbox.perSecond) * 100).toFixed(0)} %`;
  const memory = `${before.toFixed(0)}, ${most.toFixed(0)}`;
  return {
    head,
    rows: [[accepted.toFixed(0), String(left), perSecond.toFixed(1), sandbox.perSecond.toFixed(1), share, memory]],
  };
}

async function sendAll(server: Started, skill: string, runs: number): Promise<number> {
  const headers = {
    authorization: `Bearer ${server.key}`,
    'content-type': 'application/json',
    prefer: 'respond-async',
  };
  const body = JSON.stringify({ skill, version: '1.0.0', input: { x: 1 } });
  let left = runs;
  const start = performance.now();
  const work = async () => {
    while (left-- > 0) {
      const answer = await fetch(`${server.url}/v1/executions`, { method: 'POST', headers, body });
      if (answer.status !== 202) throw new Error(`not accepted: ${answer.status} ${await answer.text()}`);
      await answer.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, work));
  return (runs / (performance.now() - start)) * 1000;
}

/** From the metrics, which cost the server two counts. */
async function counts(server: Started): Promise<{ waiting: number }> {
  const answer = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${server.key}` } });
  const text = await answer.text();
  const gauge = (name: string) => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN);
  const waiting = gauge('skillbox_runs_queued') + gauge('skillbox_runs_running');
  if (Number.isNaN(waiting)) throw new Error(`no such gauges in the metrics: ${text.slice(0, 300)}`);
  return { waiting };
}

const STEPS = 40;

/** Everybody must see every line and the end; how late a line is at the last follower, against the first, is the figure. */
export async function followRun(server: Started, followers: number): Promise<Table> {
  const headers = {
    authorization: `Bearer ${server.key}`,
    'content-type': 'application/json',
    prefer: 'respond-async',
  };
  const body = JSON.stringify({ skill: 'slow-steps', version: '1.0.0', input: { steps: STEPS, seconds: 0.25 } });
  const answer = await fetch(`${server.url}/v1/executions`, { method: 'POST', headers, body });
  const { execution_id: id } = (await answer.json()) as { execution_id: string };
  const before = memoryOf(server.pid);
  const seen = await Promise.all(Array.from({ length: followers }, () => follow(server, id)));
  const after = memoryOf(server.pid);
  const whole = seen.filter(({ lines }) => lines.size === STEPS).length;
  // The last lines: by then everybody is connected.
  const late: number[] = [];
  for (const line of [...(seen[0]?.lines.keys() ?? [])].slice(-10)) {
    const times = seen.flatMap(({ lines }) => lines.get(line) ?? []);
    const first = times.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY);
    late.push(...times.map(time => time - first));
  }
  return {
    head: ['followers', 'saw every line', 'later than the first, p50 ms', 'p99 ms', 'memory before, after MiB'],
    rows: [
      [
        String(followers),
        String(whole),
        percentile(late, 0.5).toFixed(1),
        percentile(late, 0.99).toFixed(1),
        `${before.toFixed(0)}, ${after.toFixed(0)}`,
      ],
    ],
  };
}

/** The lines of one follower, each with the time when it came. */
async function follow(server: Started, id: string): Promise<{ lines: Map<string, number> }> {
  const lines = new Map<string, number>();
  await new Promise<void>((resolve, reject) => {
    const asked = httpRequest(
      `${server.url}/v1/executions/${id}/events`,
      { headers: { authorization: `Bearer ${server.key}`, accept: 'text/event-stream' }, agent: false },
      answer => {
        if (answer.statusCode !== 200) reject(new Error(`not followed: ${answer.statusCode}`));
        answer.setEncoding('utf8').on('data', (text: string) => {
          const now = performance.now();
          for (const [step] of text.matchAll(/step \d+ of \d+/g)) if (!lines.has(step)) lines.set(step, now);
        });
        answer.on('end', resolve).on('error', reject);
      },
    );
    asked.on('error', reject);
    asked.end();
  });
  return { lines };
}
