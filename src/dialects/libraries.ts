import { createRequire } from 'node:module';

/**
 * The two parsers, loaded when a file first needs one: most skills are read without them, and loading them costs more than
 * starting Node. In the bundled program they are files beside it; elsewhere they are the packages themselves.
 */
declare const SKILLBOX_VERSION: string | undefined;
const BUNDLED = typeof SKILLBOX_VERSION !== 'undefined';
const load = createRequire(import.meta.url);

type Yaml = typeof import('yaml');
type Markdown = typeof import('markdown-it').default;

let yaml: Yaml | null = null;
let markdown: Markdown | null = null;

export function yamlLibrary(): Yaml {
  yaml ??= load(BUNDLED ? './vendor/yaml.cjs' : 'yaml') as Yaml;
  return yaml;
}

export function markdownLibrary(): Markdown {
  if (markdown === null) {
    const found = load(BUNDLED ? './vendor/markdown-it.cjs' : 'markdown-it') as Markdown | { default: Markdown };
    markdown = 'default' in found ? found.default : found;
  }
  return markdown;
}
