const last = { ms: 0, text: '1970-01-01T00:00:00.000Z' };

/** Milliseconds here, RFC 3339 on the wire. The same time often comes twice in one answer, and in the next. */
export function toTime(ms: number): string {
  if (ms !== last.ms) Object.assign(last, { ms, text: new Date(ms).toISOString() });
  return last.text;
}
export const fromTime = (text: string): number => Date.parse(text);
export const toTimeOrNull = (ms: number | null): string | null => (ms === null ? null : toTime(ms));
export const fromTimeOrNull = (text: string | null): number | null => (text === null ? null : fromTime(text));
