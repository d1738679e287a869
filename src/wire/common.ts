import { type Static, type TObject, type TProperties, type TSchema, type TUnsafe, Type } from 'typebox';
import type { JsonObject, JsonValue } from '../base/index.ts';

/** An object that holds these fields and no others, on the way in and on the way out. */
export function exactly<T extends TProperties>(properties: T, more: { description?: string } = {}): TObject<T> {
  return Type.Object(properties, { additionalProperties: false, ...more });
}

/** The same, or null. Said with two types instead of two schemas: it is checked and written in one step. */
export function orNull<T extends TSchema & { type?: unknown; enum?: unknown }>(schema: T): TUnsafe<Static<T> | null> {
  const words = Array.isArray(schema.enum) ? { enum: [...(schema.enum as unknown[]), null] } : {};
  return Type.Unsafe<Static<T> | null>({ ...schema, type: [schema.type, 'null'], ...words });
}

export function oneOf<const T extends readonly string[]>(
  words: T,
  more: { description?: string } = {},
): TUnsafe<T[number]> & { type: 'string' } {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...words], ...more }) as TUnsafe<T[number]> & {
    type: 'string';
  };
}

/** Any JSON at all. */
export const Json: TUnsafe<JsonValue> = Type.Unsafe<JsonValue>({});
/** An object whose fields are not ours to say. */
export const AnyObject = Type.Unsafe<JsonObject>({
  type: 'object',
  additionalProperties: true,
}) as TUnsafe<JsonObject> & {
  type: 'object';
};
export const TextMap = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
}) as TUnsafe<Record<string, string>> & { type: 'object' };

export const Time = Type.String({ format: 'date-time' });
export const Count = Type.Integer({ minimum: 0 });
export const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** A part of a long list; `next` is the `after` of the request for the part that follows, null after the last. */
export function pageOf<T extends TSchema>(item: T) {
  return exactly({ items: Type.Array(item), next: orNull(Type.String()) });
}

/** What nobody reads is a mistake of the caller. */
export const NO_QUERY = exactly({});

export const paging = (most: number) => ({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: most, description: 'how many at most' })),
  after: Type.Optional(Type.String({ maxLength: 512, description: 'the `next` of the part before' })),
});
