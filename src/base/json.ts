export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A plain object without a prototype, so that a key named `__proto__` is only a key. */
export function emptyObject(): JsonObject {
  return Object.create(null) as JsonObject;
}

/** JSON with keys in code-unit order at every level: equal values give equal text. */
export function stableJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(stableJson).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map(key => `${JSON.stringify(key)}:${stableJson(value[key] ?? null)}`).join(',')}}`;
}
