import { expect, test } from 'vitest';
import { ERRORS, EXIT, SkillboxError } from '../../src/base/index.ts';

test('every error code has a status, an exit code of the table, and a hint', () => {
  for (const [code, entry] of Object.entries(ERRORS)) {
    expect(entry.status, code).toBeGreaterThanOrEqual(400);
    expect(Object.values(EXIT), code).toContain(entry.exit);
    expect(entry.hint, code).not.toBe('');
  }
});

test('an error carries its code, hint, details and cause', () => {
  const cause = new Error('inner');
  const error = new SkillboxError('NOT_FOUND', 'nothing there', { details: { path: 'x' }, cause });
  expect(error).toMatchObject({ code: 'NOT_FOUND', exit: 5, status: 404, details: { path: 'x' }, cause });
  expect(error.hint).toBe(ERRORS.NOT_FOUND.hint);
});
