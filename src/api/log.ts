import type { FastifyBaseLogger } from 'fastify';
import pino, { type DestinationStream } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * One JSON object a line. Threat: a log is read by more people than the server is; so what a request brought along never
 * comes here whole: no headers, no body, no query. Whoever logs names the fields that may be seen.
 */
export function createLog(level: LogLevel, stream: DestinationStream): FastifyBaseLogger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      serializers: { err: toPlainError, req: () => undefined, res: () => undefined },
    },
    stream,
  );
}

type PlainError = {
  type: string;
  code: string | null;
  message: string;
  stack: string | null;
  cause: PlainError | null;
};

const MAX_CAUSES = 4;

/** What an error says of itself, not what was hung on it: that may be a request. */
function toPlainError(error: unknown, depth = 0): PlainError {
  if (!(error instanceof Error))
    return { type: typeof error, code: null, message: String(error), stack: null, cause: null };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : null;
  const cause = error.cause === undefined || depth >= MAX_CAUSES ? null : toPlainError(error.cause, depth + 1);
  return { type: error.name, code, message: error.message, stack: error.stack ?? null, cause };
}
