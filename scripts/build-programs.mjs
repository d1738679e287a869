// dist/cli/: the command line. What a person waits for is in one file; the rest is loaded on demand, command by command.
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { EXTERNALS } from './externals.mjs';
import { namedExports } from './named-exports.mjs';
import { makeBuiltinsPlain, REQUIRE } from './plain-builtins.mjs';
import { readShipped } from './shipped.mjs';

/** Packages that only a store elsewhere needs: too large for a file that is read whole at every start. */
const STORES = ['pg', '@aws-sdk/client-s3', '@aws-sdk/lib-storage', '@aws-sdk/s3-request-presigner'];
const STORES_FILE = './vendor/stores.cjs';

const FILE_URL = "const __fileUrl = require('node:url').pathToFileURL(__filename).href;";

export async function buildPrograms(root) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const common = {
    absWorkingDir: root,
    outdir: 'dist/cli',
    bundle: true,
    platform: 'node',
    target: 'node22.13',
    minify: true,
    legalComments: 'none',
    define: { SKILLBOX_VERSION: JSON.stringify(version) },
    logLevel: 'warning',
  };
  const modules = { ...common, external: EXTERNALS, format: 'esm', banner: { js: REQUIRE } };
  const files = { ...common, format: 'cjs', outExtension: { '.js': '.cjs' } };
  await build({
    ...modules,
    // Not called main: proxy and broker are found by that name where each has a directory of its own.
    entryPoints: { commands: 'src/cli/main.ts', io: 'src/cli/io.ts' },
    splitting: true,
    plugins: [namedExports],
  });
  // Proxy and broker are processes of their own, and so programs of their own.
  await build({ ...modules, entryPoints: { egress: 'src/egress/main.ts', broker: 'src/broker/main.ts' } });
  // The entry comes after it: a Node that is too old must be able to load that.
  makeBuiltinsPlain(join(root, 'dist/cli'));
  await build({
    ...modules,
    entryPoints: { skillbox: 'src/cli/skillbox.ts' },
    plugins: [beside({ './main.ts': './commands.js', './io.ts': './io.js' })],
    banner: { js: '#!/usr/bin/env node' },
  });
  chmodSync(join(root, 'dist/cli/skillbox.js'), 0o755);
  await build({
    ...files,
    entryPoints: { run: 'src/cli/run-program.ts', catalog: 'src/cli/catalog-program.ts' },
    external: EXTERNALS,
    plugins: [storesApart],
    define: {
      ...common.define,
      'import.meta.url': '__fileUrl',
      SKILLBOX_SHIPPED: JSON.stringify(await readShipped(root)),
    },
    banner: { js: FILE_URL },
  });
  // Loaded by name when first needed; see src/dialects/libraries.ts.
  await build({ ...files, entryPoints: ['yaml', 'markdown-it'], outdir: 'dist/cli/vendor' });
  await build({
    ...files,
    stdin: {
      contents: STORES.map(name => `export * as ${JSON.stringify(name)} from ${JSON.stringify(name)};`).join('\n'),
      resolveDir: root,
      sourcefile: 'stores.js',
    },
    outdir: undefined,
    outExtension: undefined,
    outfile: 'dist/cli/vendor/stores.cjs',
    external: ['pg-native'],
  });
}

/** Modules that are files of their own in dist/cli. */
function beside(files) {
  return {
    name: 'beside',
    setup(build) {
      build.onResolve({ filter: /^\.\// }, ({ path }) =>
        Object.hasOwn(files, path) ? { path: files[path], external: true } : undefined,
      );
    },
  };
}

/** Each of the packages as a part of the one file that has them all, which is loaded with the first of them. */
const storesApart = {
  name: 'stores-apart',
  setup(build) {
    build.onResolve({ filter: /^(?:pg$|@aws-sdk\/)/ }, ({ path }) =>
      STORES.includes(path) ? { path, namespace: 'stores' } : undefined,
    );
    build.onResolve({ filter: /^\.\/vendor\// }, ({ path }) => ({ path, external: true }));
    build.onLoad({ filter: /.*/, namespace: 'stores' }, ({ path }) => ({
      contents: `module.exports = { __esModule: true, ...require(${JSON.stringify(STORES_FILE)})[${JSON.stringify(path)}] };`,
    }));
  },
};
