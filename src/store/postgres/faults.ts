import { errnoOf, SkillboxError } from '../../base/index.ts';

/** By SQLSTATE, or by its first two letters. What is not named is our own fault and stays what it is. */
const MEANINGS: Record<string, { code: 'BACKEND_UNAVAILABLE' | 'UNWRITABLE' | 'UNREADABLE'; what: string }> = {
  '08': { code: 'BACKEND_UNAVAILABLE', what: 'the connection to the database was lost' },
  '28': { code: 'BACKEND_UNAVAILABLE', what: 'the database does not let us in' },
  '3D': { code: 'BACKEND_UNAVAILABLE', what: 'there is no such database' },
  '40': { code: 'BACKEND_UNAVAILABLE', what: 'the database is too busy with others that write the same' },
  '53': { code: 'BACKEND_UNAVAILABLE', what: 'the database has no more room for connections or memory' },
  '57': { code: 'BACKEND_UNAVAILABLE', what: 'the database stopped what it was asked' },
  '25006': { code: 'BACKEND_UNAVAILABLE', what: 'the database takes no changes now' },
  '25P03': { code: 'BACKEND_UNAVAILABLE', what: 'the database closed a connection that waited too long' },
  '55P03': { code: 'BACKEND_UNAVAILABLE', what: 'the database is too busy with others that write the same' },
  '53100': { code: 'UNWRITABLE', what: 'the disk of the database is full' },
  '58': { code: 'UNWRITABLE', what: "the database's disk does not work" },
  XX001: { code: 'UNREADABLE', what: 'the database is damaged' },
  XX002: { code: 'UNREADABLE', what: 'the database is damaged' },
};

/** A transaction that lost against another one: nothing of it was written, and it may be tried again. */
const CONFLICTS: readonly string[] = ['40001', '40P01'];

/** What a query threw, as the table of errors names it. */
export function translate(cause: unknown): unknown {
  if (!(cause instanceof Error) || cause instanceof SkillboxError) return cause;
  const state = sqlStateOf(cause);
  // Faults without a state are those of the connection, and of what the driver says when it is gone.
  const meaning =
    state === null
      ? { code: 'BACKEND_UNAVAILABLE' as const, what: 'the database does not answer' }
      : (MEANINGS[state] ?? MEANINGS[state.slice(0, 2)]);
  if (meaning === undefined) return cause;
  return new SkillboxError(meaning.code, `${meaning.what}: ${cause.message || errnoOf(cause)}`, { cause });
}

export function isConflict(error: unknown): boolean {
  return error instanceof SkillboxError && CONFLICTS.includes(sqlStateOf(error.cause) ?? '');
}

/** Whether the connection is of no more use, because it is gone or nobody knows what it still does. */
export function isBroken(error: unknown): boolean {
  if (!(error instanceof SkillboxError) || !(error.cause instanceof Error)) return false;
  const state = sqlStateOf(error.cause);
  return state === null || state.startsWith('08') || state.startsWith('57P') || state === '25P03';
}

/** Whether the connection went away at once, as those do that a restarted server left behind in the pool. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof SkillboxError) || !(error.cause instanceof Error)) return false;
  const state = sqlStateOf(error.cause);
  if (state !== null) return state === '57P01' || state === '57P02' || state.startsWith('08');
  const errno = errnoOf(error.cause);
  return errno === 'ECONNRESET' || errno === 'EPIPE' || error.cause.message.startsWith('Connection terminated');
}

/** Of an error that the server sent; its class is the driver's, which is not loaded here. */
export function sqlStateOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('severity' in error)) return null;
  return 'code' in error && typeof error.code === 'string' ? error.code : null;
}
