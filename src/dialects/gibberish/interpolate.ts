import { type JsonObject, type JsonValue, SkillboxError } from '../../base/index.ts';
import type { Parameter, Piece, Token, Tool } from '../../skill/index.ts';
import { checkArguments } from './arguments.ts';
import { readModifier, renderValue } from './values.ts';

/** A value that begins with `-` where the program may take it for an option. `index` counts in argv. */
export type DashedSlot = { parameter: string; value: string; index: number };

/** `by` names the parameter whose given text begins the element; `literal`: the author wrote it whole. */
type Element = { text: string; by: string | null; literal: boolean };
/** What a piece comes to: text, or null when the value is absent. */
type Filled = { text: string | null; by: string | null };

/** GB-06, GB-07: the argv of a call. Values are put into finished tokens: they never become syntax. */
export function interpolate(tool: Tool, args: JsonObject): { argv: string[] } {
  return { argv: expand(tool, args).map(element => element.text) };
}

/**
 * GB-09: what strict policy refuses. Behind a `--` that the author wrote nothing is an option any more; one that came as
 * a value ends nothing, or a caller could switch the check off.
 */
export function dashedSlots(tool: Tool, args: JsonObject): DashedSlot[] {
  const elements = expand(tool, args);
  const end = elements.findIndex(element => element.literal && element.text === '--');
  return elements.slice(0, end === -1 ? elements.length : end).flatMap(({ text, by }, index) => {
    return by !== null && text.startsWith('-') ? [{ parameter: by, value: text, index }] : [];
  });
}

function expand(tool: Tool, args: JsonObject): Element[] {
  const values = new Values(tool, checkArguments(tool, args));
  return tool.command.flatMap(token => expandToken(token, values));
}

class Values {
  readonly #tool: Tool;
  readonly #given: ReadonlyMap<string, JsonValue>;
  readonly #parameters: ReadonlyMap<string, Parameter>;

  constructor(tool: Tool, given: ReadonlyMap<string, JsonValue>) {
    this.#tool = tool;
    this.#given = given;
    this.#parameters = new Map(tool.parameters.map(parameter => [parameter.name, parameter]));
  }

  parameter(name: string): Parameter {
    const parameter = this.#parameters.get(name);
    if (parameter !== undefined) return parameter;
    throw new SkillboxError('INVALID_SKILL', `tool "${this.#tool.name}" has no parameter for {{${name}}}`);
  }

  /** Null when absent and without a default. Only text that the caller gave can be an attack by the caller. */
  read(piece: Piece & { kind: 'value' }): { value: JsonValue; by: string | null } {
    const { name, type, default: fallback } = this.parameter(piece.name);
    const given = this.#given.get(name);
    if (given !== undefined) return { value: given, by: type === 'string' || type === 'array' ? name : null };
    const modifier = readModifier(piece.modifier, type);
    return { value: modifier.kind === 'default' ? modifier.value : fallback, by: null };
  }

  /** A piece inside a longer token. */
  fill(piece: Piece, encode: (text: string) => string): Filled {
    if (piece.kind === 'text') return { text: piece.text, by: null };
    const { value, by } = this.read(piece);
    const modifier = readModifier(piece.modifier, this.parameter(piece.name).type);
    if (modifier.kind === 'switch') return { text: value === true ? modifier.text : null, by: null };
    return { text: value === null ? null : encode(renderValue(value)), by };
  }
}

function expandToken(token: Token, values: Values): Element[] {
  const [first, ...others] = token.pieces;
  if (first === undefined) return [{ text: '', by: null, literal: true }];
  if (others.length === 0) {
    return first.kind === 'text' ? [{ text: first.text, by: null, literal: true }] : expandLone(first, values);
  }
  if (first.kind === 'text' && /^https?:\/\//i.test(first.text)) return expandUrl(token.pieces, values);
  const filled = token.pieces.map(piece => values.fill(piece, text => text));
  const element = join(filled);
  return element === null ? [] : [element];
}

/** A token that is one placeholder: the only place where one token makes two elements, or many. */
function expandLone(piece: Piece & { kind: 'value' }, values: Values): Element[] {
  const { value, by } = values.read(piece);
  const modifier = readModifier(piece.modifier, values.parameter(piece.name).type);
  if (modifier.kind === 'switch') return value === true ? [{ text: modifier.text, by: null, literal: false }] : [];
  if (value === null) return [];
  const items = Array.isArray(value) ? value : [value];
  if (modifier.kind !== 'flag') return items.map(item => ({ text: renderValue(item), by, literal: false }));
  // The flag takes the value, whatever it begins with.
  const texts = items.length === 0 ? [] : [modifier.text, ...items.map(renderValue)];
  return texts.map(text => ({ text, by: null, literal: false }));
}

/**
 * GB-08: values are percent-encoded, so none can add a parameter, a path or a host. An absent value takes its query
 * parameter (or the fragment) with it; in the address itself it takes the whole token.
 */
function expandUrl(pieces: readonly Piece[], values: Values): Element[] {
  const address: Filled[] = [];
  const query: Filled[][] = [];
  const fragment: Filled[] = [];
  let part = address;
  for (const piece of pieces) {
    if (piece.kind === 'value') {
      part.push(values.fill(piece, encode));
      continue;
    }
    for (const [text] of piece.text.matchAll(/[?&#]|[^?&#]+/g)) {
      const opensQuery = text === '?' && part === address;
      if (part !== fragment && (opensQuery || (text === '&' && part !== address))) {
        part = [];
        query.push(part);
      } else {
        if (text === '#') part = fragment;
        part.push({ text, by: null });
      }
    }
  }
  const base = join(address);
  if (base === null) return [];
  const kept = query.map(join).filter(parameter => parameter !== null);
  const search = kept.length === 0 ? '' : `?${kept.map(parameter => parameter.text).join('&')}`;
  return [{ text: base.text + search + (join(fragment)?.text ?? ''), by: null, literal: false }];
}

/** Null when something in it is absent. */
function join(filled: readonly Filled[]): Element | null {
  let element: Element = { text: '', by: null, literal: false };
  for (const { text, by } of filled) {
    if (text === null) return null;
    element = { text: element.text + text, by: element.text === '' ? by : element.by, literal: false };
  }
  return element;
}

/** RFC 3986: everything but letters, digits and `-._~`. A lone surrogate has no UTF-8 and becomes U+FFFD. */
function encode(text: string): string {
  const encoded = encodeURIComponent(text.toWellFormed());
  return encoded.replace(/[!'()*]/g, found => `%${found.charCodeAt(0).toString(16).toUpperCase()}`);
}
