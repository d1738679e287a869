import { join } from 'node:path';
import { buildSync } from 'esbuild';

const root = join(import.meta.dirname, '..');

/** The peers' programs are bundles; so is ours. */
export function bundled(source: string): string {
  const outfile = join(root, 'bench/.data', source.replace(/^.*\//, '').replace(/\.ts$/, '.mjs'));
  buildSync({
    absWorkingDir: root,
    entryPoints: [source],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    minify: true,
    external: ['gpt-tokenizer'],
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);",
    },
  });
  return outfile;
}
