import { emptyObject, type JsonObject, type JsonValue, SkillboxError, suggest } from '../../base/index.ts';
import type { Parameter, ParameterType, Tool } from '../../skill/index.ts';
import { coerceText, isOfType } from './values.ts';

const KINDS: Record<ParameterType, string> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list of texts',
};

// A caller may send a million unknown names; the first say enough.
const MAX_PROBLEMS = 10;
const MAX_NAMES = 50;

/** One thing that is wrong with a call; GB-16 wants the missing parameter told apart. */
export type ArgumentProblem = {
  reason: 'missing-parameter' | 'unknown-argument' | 'wrong-type' | 'nul-byte';
  parameter: string;
  message: string;
};

/**
 * GB-05: the given arguments that are not null, checked against the tool's parameters; all problems in one error.
 * Only own properties count, so `constructor` and `__proto__` are names like any other.
 */
export function checkArguments(tool: Tool, args: JsonObject): Map<string, JsonValue> {
  const given = new Map<string, JsonValue>();
  const problems: ArgumentProblem[] = [];
  const declared = new Map(tool.parameters.map(parameter => [parameter.name, parameter]));
  for (const [name, value] of Object.entries(args)) {
    if (problems.length >= MAX_PROBLEMS) break;
    const parameter = declared.get(name);
    if (parameter === undefined) problems.push(unknownArgument(tool, name));
    else if (value === null || value === undefined) continue;
    else if (!isOfType(parameter.type, value)) problems.push(wrongType(parameter, value));
    else if ([value].flat().some(text => typeof text === 'string' && text.includes('\0'))) {
      // An argv element ends at a NUL: the program would see another value than was approved.
      problems.push({ reason: 'nul-byte', parameter: name, message: `"${name}" holds a NUL character` });
    } else given.set(name, value);
  }
  const reported = new Set(problems.map(problem => problem.parameter));
  for (const { name, type, required } of tool.parameters) {
    if (problems.length >= MAX_PROBLEMS) break;
    if (!required || given.has(name) || reported.has(name)) continue;
    problems.push({ reason: 'missing-parameter', parameter: name, message: `"${name}" (${type}) is missing` });
  }
  refuse(tool, problems);
  return given;
}

/** Text from a command line; a parameter given several times is a list. */
export function coerceArguments(
  tool: Tool,
  textArgs: Readonly<Record<string, string | readonly string[]>>,
): JsonObject {
  const values = emptyObject();
  const problems: ArgumentProblem[] = [];
  const declared = new Map(tool.parameters.map(parameter => [parameter.name, parameter]));
  for (const [name, given] of Object.entries(textArgs)) {
    if (problems.length >= MAX_PROBLEMS) break;
    const texts = typeof given === 'string' ? [given] : given;
    const parameter = declared.get(name);
    const [text] = texts;
    if (parameter === undefined) problems.push(unknownArgument(tool, name));
    else if (text === undefined) continue;
    else if (texts.length > 1) {
      if (parameter.type === 'array') values[name] = [...texts];
      else problems.push(wrongType(parameter, [...texts]));
    } else {
      const value = coerceText(parameter.type, text);
      if (value === undefined) problems.push(wrongType(parameter, text));
      else values[name] = value;
    }
  }
  refuse(tool, problems);
  return values;
}

function unknownArgument(tool: Tool, name: string): ArgumentProblem {
  const names = tool.parameters.slice(0, MAX_NAMES).map(parameter => parameter.name);
  const meant = suggest(name, names);
  const known = names.length === 0 ? 'it takes none' : `it takes ${names.join(', ')}`;
  const message = `"${shorten(name)}" is not a parameter; ${meant === null ? known : `did you mean "${meant}"?`}`;
  return { reason: 'unknown-argument', parameter: name, message };
}

function wrongType(parameter: Parameter, value: JsonValue): ArgumentProblem {
  const message = `"${parameter.name}" must be ${KINDS[parameter.type]}, not ${shorten(JSON.stringify(value))}`;
  return { reason: 'wrong-type', parameter: parameter.name, message };
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function refuse(tool: Tool, problems: ArgumentProblem[]): void {
  if (problems.length === 0) return;
  const message = `tool "${tool.name}": ${problems.map(problem => problem.message).join('; ')}`;
  throw new SkillboxError('INVALID_CALL', message, { details: { tool: tool.name, problems } });
}
