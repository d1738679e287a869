import { createRequire } from 'node:module';

/**
 * The Markdown parser, loaded when a file first needs it: most skills are read without it, and loading it costs more than
 * starting Node. In the bundled program it is a file beside it; elsewhere it is the package itself.
 */
declare const SKILLBOX_VERSION: string | undefined;
const BUNDLED = typeof SKILLBOX_VERSION !== 'undefined';
const load = createRequire(import.meta.url);

type Markdown = typeof import('markdown-it').default;

let markdown: Markdown | null = null;

export function markdownLibrary(): Markdown {
  if (markdown === null) {
    const found = load(BUNDLED ? './vendor/markdown-it.cjs' : 'markdown-it') as Markdown | { default: Markdown };
    markdown = 'default' in found ? found.default : found;
  }
  return markdown;
}
