import { type JsonObject, yamlLibrary } from '../base/index.ts';

/** The reverse of reading: YAML and SKILL.md that every reader understands in the same way. */

export function renderYaml(fields: JsonObject): string {
  const text = yamlLibrary().stringify(fields, {
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
  });
  // The library quotes a text that holds these, but writes them as they are; in the file they are control characters.
  return text.replace(/[\u007f-\u009f]/g, found => `\\x${found.charCodeAt(0).toString(16)}`);
}

/** SKILL.md from its frontmatter and the instructions after it. */
export function renderDocument(fields: JsonObject, instructions: string): string {
  return `---\n${renderYaml(fields)}---\n${instructions === '' ? '' : `\n${instructions}`}`;
}
