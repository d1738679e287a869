import { type JsonObject, yamlLibrary } from '../base/index.ts';

/** The reverse of reading: YAML and SKILL.md that every reader understands in the same way. */

const OPTIONS = {
  version: '1.2',
  schema: 'core',
  // Older readers take `yes`, `on` and dates for other things than text; quoted, nobody does.
  compat: 'yaml-1.1',
  // Folded lines are a frequent source of misreading, and an anchor is refused by X-04.
  lineWidth: 0,
  // Over several lines the library writes a quoted text with lines of blanks so that it reads as another.
  doubleQuotedMinMultiLineLength: Number.POSITIVE_INFINITY,
  blockQuote: 'literal',
  aliasDuplicateObjects: false,
} as const;
// To older readers they end a line wherever they stand.
const LINE_ENDS = /[\u2028\u2029]/;
const ESCAPED = /[\u007f-\u009f\u2028\u2029]/g;

export function renderYaml(fields: JsonObject): string {
  const { Document, visit } = yamlLibrary();
  const document = new Document(fields, OPTIONS);
  visit(document, {
    Scalar(_key, node) {
      // Of nothing but blanks the library would lose some.
      const quoted = typeof node.value === 'string' && (LINE_ENDS.test(node.value) || node.value.trim() === '');
      if (quoted) node.type = 'QUOTE_DOUBLE';
    },
  });
  // What is quoted may hold these, but the library writes them as they are; in the file they are control characters.
  return document.toString(OPTIONS).replace(ESCAPED, escaped);
}

function escaped(character: string): string {
  const code = character.charCodeAt(0).toString(16);
  return code.length === 2 ? `\\x${code}` : `\\u${code}`;
}

/** SKILL.md from its frontmatter and the instructions after it. */
export function renderDocument(fields: JsonObject, instructions: string): string {
  return `---\n${renderYaml(fields)}---\n${instructions === '' ? '' : `\n${instructions}`}`;
}
