import { createRequire } from 'node:module';

/**
 * Loaded when a file first needs it: most skills are read without it, and loading it costs more than starting Node. In the
 * bundled program it is a file beside it; elsewhere it is the package itself.
 */
declare const SKILLBOX_VERSION: string | undefined;
const BUNDLED = typeof SKILLBOX_VERSION !== 'undefined';

type Yaml = typeof import('yaml');

let yaml: Yaml | null = null;

export function yamlLibrary(): Yaml {
  yaml ??= createRequire(import.meta.url)(BUNDLED ? './vendor/yaml.cjs' : 'yaml') as Yaml;
  return yaml;
}
