import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Value } from 'typebox/value';

/**
 * A path, a query and headers are text, so they are converted to what their schema says. A body is JSON: a number in quotes
 * is a fault there, and null is not an empty string.
 */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const checker = Compile(schema);
  const isText = httpPart !== 'body' && !isTextOnly(schema);
  const hasDefaults = JSON.stringify(schema).includes('"default":');
  return (given: unknown) => {
    const converted: unknown = isText ? Value.Convert(schema, given) : given;
    const value: unknown = hasDefaults ? Value.Default(schema, converted) : converted;
    return checker.Check(value) ? { value } : { error: checker.Errors(value) as unknown as Error };
  };
};

/** Nothing to convert: every part of it is text as it comes. Most paths are of this kind, and every request has one. */
function isTextOnly(schema: TSchema): boolean {
  const { properties } = schema as { properties?: Record<string, { type?: unknown }> };
  return properties !== undefined && Object.values(properties).every(({ type }) => type === 'string');
}
