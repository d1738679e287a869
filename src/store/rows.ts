import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';

/** Node 22 drops a statement that nobody holds, also while its rows are being read, and the next row is then an error. */
const held = new Set<StatementSync>();

/** Row by row: there may be more of them than memory. */
export function* rowsOf(
  view: DatabaseSync,
  sql: string,
  ...values: SQLInputValue[]
): Generator<Record<string, SQLOutputValue>> {
  const statement = view.prepare(sql);
  held.add(statement);
  try {
    yield* statement.iterate(...values);
  } finally {
    held.delete(statement);
  }
}
