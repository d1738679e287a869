import type { Shape } from '../base/index.ts';
import { readText } from './bytes.ts';
import { foreign, misshapen } from './refusals.ts';

/** A body that is no JSON, or other JSON than our server's, came from something else. */
export async function readJson<T>(answer: Response, shape: Shape<T>): Promise<T> {
  return parseAs(await readText(answer), shape, answer.status);
}

/** Looked through before anything is done with it. */
export function parseAs<T>(text: string, shape: Shape<T>, status: number): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw foreign(status);
  }
  const wrong = shape(value, '');
  if (wrong === null) return value as T;
  throw wrong === '' ? foreign(status) : misshapen(status, wrong);
}
