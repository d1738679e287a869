import { type JsonValue, SkillboxError, stableJson } from '../../base/index.ts';

/** One entry of a configuration file: set to a value, or taken away where it is null. All other text stays as it is. */
export type Edit = (text: string, path: readonly string[], value: JsonValue | null) => string;

/** What stands at a path. A group with a comment in it is not empty. */
export type State = 'absent' | 'empty' | 'filled';

export type Editor = { edit: Edit; stateOf: (text: string, path: readonly string[]) => State };

/** The file is written in a way that cannot be edited without risk to what else stands in it. */
export function uneditable(why: string): SkillboxError {
  return new SkillboxError('CONFIG_UNEDITABLE', `it cannot be edited safely: ${why}`);
}

/** Everything that we would write is there already; what the user added beside it stays. */
export function holds(current: JsonValue, value: JsonValue): boolean {
  if (!isRecord(current) || !isRecord(value)) return stableJson(current) === stableJson(value);
  return Object.entries(value).every(([key, item]) => stableJson(current[key] ?? null) === stableJson(item));
}

/** The net below every editor: read again, the file says what it said before, but for the one entry. */
export function checkEdit(before: JsonValue, after: JsonValue, path: readonly string[], value: JsonValue | null): void {
  if (stableJson(withEntry(before, path, value)) !== stableJson(after)) {
    throw uneditable('the change would alter something else');
  }
}

function withEntry(before: JsonValue, [key, ...rest]: readonly string[], value: JsonValue | null): JsonValue {
  if (key === undefined) return value;
  const entries = new Map(isRecord(before) ? Object.entries(before) : []);
  if (rest.length > 0) {
    if (entries.has(key) || value !== null) entries.set(key, withEntry(entries.get(key) ?? {}, rest, value));
  } else if (value === null) entries.delete(key);
  else entries.set(key, value);
  return Object.fromEntries(entries);
}

function isRecord(value: JsonValue): value is Record<string, JsonValue> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
