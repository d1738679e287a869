// The client as one file that knows nothing of Node: what browsers load.
import { build } from 'esbuild';

/** Modules that it does not use are left out whole, with what they import; a test looks that nothing of theirs is left. */
export function buildClient(root, outfile) {
  return build({
    absWorkingDir: root,
    entryPoints: ['src/client/index.ts'],
    ...(outfile === null ? { write: false } : { outfile }),
    bundle: true,
    treeShaking: true,
    external: ['node:*'],
    packages: 'external',
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    legalComments: 'none',
    logLevel: 'warning',
  });
}
