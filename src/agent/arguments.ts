import { isObject, type JsonObject, type JsonValue, SkillboxError, suggest, visibleLine } from '../base/index.ts';

/**
 * Checks arguments against the schema of a tool, before anything is done with them. It knows the words that our schemas use
 * (object, string, integer, number, boolean, array, enum) and no others, so that no schema of a stranger is ever interpreted.
 */
export function checkArguments(schema: JsonObject, args: JsonValue | undefined): JsonObject {
  const given = args ?? {};
  if (!isObject(given)) throw invalid('the arguments are not an object');
  checkDepth(given);
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  for (const name of required) {
    if (typeof name === 'string' && !Object.hasOwn(given, name)) throw invalid(`"${name}" is missing`);
  }
  for (const [name, value] of Object.entries(given)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!isObject(property)) throw unknown(name, Object.keys(properties));
    checkValue(name, property, value);
  }
  return given;
}

function checkValue(name: string, schema: JsonObject, value: JsonValue): void {
  if (!isOfType(schema.type, value)) {
    throw invalid(`"${visibleLine(name)}" is not ${describe(schema.type)}`);
  }
  if (Array.isArray(schema.enum) && !schema.enum.includes(value)) {
    const names = schema.enum.filter(one => typeof one === 'string');
    const close = typeof value === 'string' ? suggest(value, names) : null;
    const shown = typeof value === 'string' ? visibleLine(value, 64) : JSON.stringify(value);
    // The names of skills are the only enum that there is.
    throw new SkillboxError('NOT_FOUND', `there is no skill "${shown}"`, {
      hint: close === null ? 'Call list_skills to see what there is.' : `Did you mean "${close}"?`,
    });
  }
  if (Array.isArray(value) && isObject(schema.items)) {
    for (const item of value) checkValue(name, schema.items, item);
  }
}

function isOfType(type: JsonValue | undefined, value: JsonValue): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string';
    case 'integer':
      return Number.isSafeInteger(value);
    case 'number':
      return typeof value === 'number' && Number.isFinite(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    default:
      return type === undefined; // any JSON
  }
}

function describe(type: JsonValue | undefined): string {
  const word = typeof type === 'string' ? type : 'value';
  return `${/^[aeio]/.test(word) ? 'an' : 'a'} ${word}`;
}

function unknown(name: string, known: readonly string[]): SkillboxError {
  const close = suggest(name, known);
  const hint = close === null ? `It takes ${known.join(', ') || 'no arguments'}.` : `Did you mean "${close}"?`;
  return new SkillboxError('INVALID_CALL', `there is no argument "${visibleLine(name, 64)}"`, { hint });
}

function invalid(message: string): SkillboxError {
  return new SkillboxError('INVALID_CALL', message, { hint: 'The schema of the tool says what it takes.' });
}

/** An argument that the schema has made sure is text. */
export function textOf(args: JsonObject, name: string): string {
  const value = args[name];
  return typeof value === 'string' ? value : '';
}

const MAX_DEPTH = 100;

/** Without recursion: what is too deep for our limit may be too deep for the stack. */
export function checkDepth(value: unknown): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw invalid(`the arguments are nested deeper than ${MAX_DEPTH} levels`);
    level = level.flatMap(one => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
}

/** Arguments as a model wrote them: JSON, or an error that tells it so. */
export function parseArguments(text: string): JsonObject {
  let value: unknown;
  try {
    value = text.trim() === '' ? {} : JSON.parse(text);
  } catch (cause) {
    throw new SkillboxError('INVALID_CALL', 'the arguments are not JSON', { cause, hint: 'Write one JSON object.' });
  }
  if (!isObject(value as JsonValue)) throw new SkillboxError('INVALID_CALL', 'the arguments are not a JSON object');
  return value as JsonObject;
}
