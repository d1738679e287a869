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
  const isText = httpPart !== 'body';
  return (given: unknown) => {
    const value: unknown = Value.Default(schema, isText ? Value.Convert(schema, given) : given);
    return checker.Check(value) ? { value } : { error: checker.Errors(value) as unknown as Error };
  };
};
