// Builds dist/: the command line as a bundle that loads each command on demand, the library as modules with types,
// the client as one file for browsers.
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { buildClient } from './build-client.mjs';
import { buildHelper, buildScanner } from './build-helper.mjs';
import { EXTERNALS } from './externals.mjs';
import { namedExports } from './named-exports.mjs';
import { makeBuiltinsPlain, REQUIRE } from './plain-builtins.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

rmSync(join(root, 'dist'), { recursive: true, force: true });
await build({
  absWorkingDir: root,
  // Proxy and broker are processes of their own, and so programs of their own.
  entryPoints: { skillbox: 'src/cli/skillbox.ts', egress: 'src/egress/main.ts', broker: 'src/broker/main.ts' },
  outdir: 'dist/cli',
  bundle: true,
  splitting: true,
  external: EXTERNALS,
  plugins: [namedExports],
  format: 'esm',
  platform: 'node',
  target: 'node22.13',
  minify: true,
  legalComments: 'none',
  define: { SKILLBOX_VERSION: JSON.stringify(version) },
  // Bundled CommonJS packages call require() for Node's own modules.
  banner: {
    js: `#!/usr/bin/env node\n${REQUIRE}`,
  },
  logLevel: 'warning',
});
// The entry is left as it is: a Node that is too old must be able to load it.
makeBuiltinsPlain(join(root, 'dist/cli'), 'skillbox.js');
// Loaded by name when first needed; see src/dialects/libraries.ts.
await build({
  absWorkingDir: root,
  entryPoints: ['yaml', 'markdown-it'],
  outdir: 'dist/cli/vendor',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node22.13',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
});
await buildClient(root, 'dist/client/index.js');
chmodSync(join(root, 'dist/cli/skillbox.js'), 0o755);
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
buildHelper();
buildScanner();
