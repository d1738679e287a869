import Type from 'typebox';
import type { ApiServer } from './server.ts';

/** Something without which the server cannot do its work: a database, blobs, a sandbox. */
export type ReadyCheck = {
  /** Seen by everybody: what it is, not where. */
  name: string;
  /** Rejects when it does not work. */
  check(signal: AbortSignal): Promise<void>;
};

export type HealthOptions = { checks: readonly ReadyCheck[]; isDraining(): boolean; deadlineMs: number };

type Found = Record<string, 'ok' | 'failed'>;

const Health = Type.Object({ status: Type.Literal('ok') });
const Ready = Type.Object({
  status: Type.Union([Type.Literal('ready'), Type.Literal('unavailable'), Type.Literal('stopping')]),
  checks: Type.Record(Type.String(), Type.Union([Type.Literal('ok'), Type.Literal('failed')])),
});
/** Anybody may ask, so the answer is good for a moment: nobody makes the back ends busy by asking. */
const REMEMBER_MS = 1000;

/** /health: the process lives. /ready: it can do its work; otherwise 503, and what is missing. */
export function healthRoutes(server: ApiServer, options: HealthOptions): void {
  const config = { scope: 'anyone' } as const;
  const tags = ['health'];
  server.get(
    '/health',
    { config, schema: { tags, summary: 'Whether the process lives', response: { 200: Health } } },
    async () => ({ status: 'ok' as const }),
  );
  let last: { at: number; found: Promise<Found> } | null = null;
  const look = (): Promise<Found> => {
    if (last === null || performance.now() - last.at > REMEMBER_MS)
      last = { at: performance.now(), found: runChecks(server, options) };
    return last.found;
  };
  server.get(
    '/ready',
    {
      config,
      schema: { tags, summary: 'Whether everything behind it works', response: { 200: Ready, 503: Ready } },
    },
    async (_request, reply) => {
      const checks = await look();
      const works = Object.values(checks).every(each => each === 'ok');
      if (options.isDraining()) return reply.code(503).send({ status: 'stopping', checks });
      return works
        ? reply.code(200).send({ status: 'ready', checks })
        : reply.code(503).send({ status: 'unavailable', checks });
    },
  );
}

async function runChecks(server: ApiServer, { checks, deadlineMs }: HealthOptions): Promise<Found> {
  const found = await Promise.all(
    checks.map(async (back): Promise<[string, 'ok' | 'failed']> => {
      const { name } = back;
      const signal = AbortSignal.timeout(deadlineMs);
      try {
        // A back end that does not answer may not listen to the signal either.
        await Promise.race([back.check(signal), rejectOn(signal)]);
        return [name, 'ok'];
      } catch (error) {
        server.log.warn({ err: error, check: name }, 'a back end does not work');
        return [name, 'failed'];
      }
    }),
  );
  return Object.fromEntries(found);
}

function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('it did not answer in time')), { once: true });
  });
}
