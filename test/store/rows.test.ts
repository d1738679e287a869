import { DatabaseSync } from 'node:sqlite';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { rowsOf } from '../../src/store/rows.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test('rows are read to the last one, whatever is cleared away meanwhile', () => {
  const database = new DatabaseSync(':memory:');
  const seen: unknown[] = [];
  for (const row of rowsOf(database, "SELECT value FROM json_each(?) WHERE value > 'a'", '["a","b","c","d"]')) {
    collectGarbage();
    seen.push(row.value);
  }
  expect(seen).toEqual(['b', 'c', 'd']);
  database.close();
});
