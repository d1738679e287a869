import type { Document, Node as LibraryNode } from 'yaml';
import { emptyObject, type JsonObject, type JsonValue } from './json.ts';
import { yamlLibrary } from './yaml-library.ts';

/** A YAML value with its place. `at` and `end` are offsets into the file's text. */
export type YamlNode =
  | { kind: 'scalar'; value: string | number | boolean | null; text: string; plain: boolean; at: number; end: number }
  | { kind: 'list'; items: YamlNode[]; at: number; end: number }
  | { kind: 'map'; entries: YamlEntry[]; at: number; end: number };
export type YamlEntry = { key: string; keyAt: number; node: YamlNode };
export type YamlMap = Extract<YamlNode, { kind: 'map' }>;

/** Each is also a code of diagnostics. */
type YamlCode =
  | 'yaml-invalid'
  | 'yaml-too-deep'
  | 'yaml-multiple-documents'
  | 'yaml-alias'
  | 'yaml-tag'
  | 'yaml-forbidden-key'
  | 'yaml-duplicate-key';
export type YamlProblem<Code extends string = YamlCode> = { code: Code; at: number; message: string };
export type YamlResult = { node: YamlNode | null; problems: YamlProblem[] };

const MAX_DEPTH = 64;
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

// uniqueKeys is off because the library's check is quadratic; duplicates are found here by a Set.
const OPTIONS = {
  version: '1.2',
  schema: 'core',
  uniqueKeys: false,
  prettyErrors: false,
  // Not 'silent': that also silences the error about a second document.
  logLevel: 'error',
  strict: true,
} as const;

/** Reads one YAML document. Never throws; a syntax error is one problem `yaml-invalid` and no node. */
export function parseYaml(text: string, base: number): YamlResult {
  let document: Document.Parsed;
  // The library makes an Error for every fault it finds; the stacks of tens of thousands of them cost seconds.
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    document = yamlLibrary().parseDocument(text, OPTIONS);
  } catch (cause) {
    // The library recurses; what overflows it is refused like any other nesting beyond the limit.
    return { node: null, problems: [{ code: 'yaml-too-deep', at: base, message: `cannot be read: ${String(cause)}` }] };
  } finally {
    Error.stackTraceLimit = limit;
  }
  const error = document.errors[0];
  if (error !== undefined) {
    const code = error.code === 'MULTIPLE_DOCS' ? 'yaml-multiple-documents' : 'yaml-invalid';
    return { node: null, problems: [{ code, at: base + error.pos[0], message: firstLine(error.message) }] };
  }
  return convert(document.contents, base);
}

function convert(contents: LibraryNode | null, base: number): YamlResult {
  const { isAlias, isMap, isScalar, isSeq } = yamlLibrary();
  const problems: YamlProblem[] = [];
  const walk = (node: unknown, depth: number, fallbackAt: number): YamlNode => {
    const empty: YamlNode = { kind: 'scalar', value: null, text: '', plain: true, at: fallbackAt, end: fallbackAt };
    if (node === null || node === undefined) return empty;
    if (depth > MAX_DEPTH) {
      problems.push({ code: 'yaml-too-deep', at: fallbackAt, message: `nested deeper than ${MAX_DEPTH} levels` });
      return empty;
    }
    const range = (node as LibraryNode).range;
    const at = range ? base + range[0] : fallbackAt;
    const end = range ? base + range[1] : fallbackAt;
    if (isAlias(node)) {
      problems.push({ code: 'yaml-alias', at, message: `alias *${node.source} is refused` });
      return empty;
    }
    const tag = (node as { tag?: string }).tag;
    if (tag !== undefined) problems.push({ code: 'yaml-tag', at, message: `tag ${tag} is not interpreted` });
    if ((node as { anchor?: string }).anchor !== undefined) {
      problems.push({ code: 'yaml-alias', at, message: 'an anchor is refused' });
    }
    if (isScalar(node)) {
      const text = node.source ?? (typeof node.value === 'string' ? node.value : '');
      const plain = node.type === 'PLAIN' || node.type === undefined;
      return { kind: 'scalar', value: scalarValue(tag === undefined ? node.value : text, text), text, plain, at, end };
    }
    if (isSeq(node)) {
      return { kind: 'list', items: node.items.map(item => walk(item, depth + 1, at)), at, end };
    }
    if (!isMap(node)) return empty;
    const entries: YamlEntry[] = [];
    const seen = new Set<string>();
    for (const pair of node.items) {
      const key = keyText(pair.key);
      const keyRange = (pair.key as LibraryNode | null)?.range;
      const keyAt = keyRange ? base + keyRange[0] : at;
      if (isAlias(pair.key)) problems.push({ code: 'yaml-alias', at: keyAt, message: 'an alias as key is refused' });
      if (FORBIDDEN_KEYS.has(key)) {
        problems.push({ code: 'yaml-forbidden-key', at: keyAt, message: `the key ${key} is refused` });
      }
      if (seen.has(key)) {
        problems.push({
          code: 'yaml-duplicate-key',
          at: keyAt,
          message: `"${key}" is given twice; the last one counts`,
        });
      }
      seen.add(key);
      entries.push({ key, keyAt, node: walk(pair.value, depth + 1, keyAt) });
    }
    return { kind: 'map', entries, at, end };
  };
  return { node: contents === null ? null : walk(contents, 0, base), problems };
}

function keyText(key: unknown): string {
  if (yamlLibrary().isScalar(key)) return key.source ?? '';
  // A mapping or list as a key: no field is called so.
  return key === null || key === undefined ? '' : '?';
}

function scalarValue(value: unknown, text: string): string | number | boolean | null {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  // An integer that JavaScript would round is kept as it was written.
  const rounded = Number.isInteger(value) && !Number.isSafeInteger(value) && /^[-+]?\d+$/.test(text);
  return typeof value === 'number' && Number.isFinite(value) && !rounded ? value : text;
}

function firstLine(message: string): string {
  return message.split('\n', 1)[0] ?? message;
}

/** The plain value: objects without prototype, duplicates already resolved to the last. */
export function yamlToJson(node: YamlNode): JsonValue {
  switch (node.kind) {
    case 'scalar':
      return node.value;
    case 'list':
      return node.items.map(yamlToJson);
    case 'map': {
      const object: JsonObject = emptyObject();
      for (const entry of node.entries) object[entry.key] = yamlToJson(entry.node);
      return object;
    }
  }
}
