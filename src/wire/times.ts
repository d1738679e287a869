/** Milliseconds here, RFC 3339 on the wire. */
export const toTime = (ms: number): string => new Date(ms).toISOString();
export const fromTime = (text: string): number => Date.parse(text);
export const toTimeOrNull = (ms: number | null): string | null => (ms === null ? null : toTime(ms));
export const fromTimeOrNull = (text: string | null): number | null => (text === null ? null : fromTime(text));
