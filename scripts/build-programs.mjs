// dist/cli/: the command line. What a person waits for is in one file; the rest is loaded on demand, command by command.
import { createHash } from 'node:crypto';
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { buildRun, oneFile } from './build-run.mjs';
import { EXTERNALS } from './externals.mjs';
import { namedExports } from './named-exports.mjs';
import { makeBuiltinsPlain, REQUIRE } from './plain-builtins.mjs';
import { readShipped } from './shipped.mjs';

/**
 * Packages that few runs need: files of their own, loaded with the first of each. What a run reads at its start is read whole,
 * and every function in it counts, called or not.
 */
const APART = {
  './vendor/stores.cjs': ['pg', '@aws-sdk/client-s3', '@aws-sdk/lib-storage', '@aws-sdk/s3-request-presigner'],
  './vendor/formats.cjs': ['tar-stream', 'yauzl', 'semver', 'typebox'],
};

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
  // What V8 made of these is kept (src/cli/code-cache.ts). They are scripts to Node then, which cannot load modules.
  const scripts = { ...files, supported: { 'dynamic-import': false } };
  await build({
    ...modules,
    // Not called main: proxy and broker are found by that name where each has a directory of its own.
    entryPoints: { commands: 'src/cli/main.ts', io: 'src/cli/io.ts' },
    splitting: true,
    plugins: [namedExports],
  });
  // Proxy and broker are processes of their own, and so programs of their own.
  await build({ ...modules, entryPoints: { egress: 'src/egress/main.ts', broker: 'src/broker/main.ts' } });
  // The entry is not among them: a Node that is too old must be able to load that.
  makeBuiltinsPlain(join(root, 'dist/cli'));
  const early = { './early-scan.ts': './early-scan.cjs', '../early-scan.ts': './early-scan.cjs' };
  await build({
    ...scripts,
    entryPoints: { 'early-scan': 'src/cli/early-scan.ts' },
    plugins: [apart],
    define: { ...common.define, 'import.meta.url': '__fileUrl' },
    banner: { js: FILE_URL },
  });
  const shipped = JSON.stringify(await readShipped(root));
  const own = { ...common.define, 'import.meta.url': '__fileUrl' };
  const ours = {
    ...scripts,
    external: EXTERNALS,
    banner: { js: FILE_URL },
    define: { ...own, SKILLBOX_SHIPPED: shipped },
  };
  const ofRun = await buildRun(root, { ...ours, plugins: [apart] });
  await build({
    ...ours,
    entryPoints: { catalog: 'src/cli/catalog-program.ts' },
    plugins: [apart, beside(early)],
  });
  // Loaded by name when first needed; see src/dialects/libraries.ts.
  await build({ ...files, entryPoints: ['yaml', 'markdown-it'], outdir: 'dist/cli/vendor' });
  for (const [file, names] of Object.entries(APART))
    await build({ ...files, ...oneFile(join('dist/cli', file), names, root), external: ['pg-native'] });
  const programs = [...ofRun, 'catalog.cjs', 'early-scan.cjs'].map(name => join(root, 'dist/cli', name));
  for (const path of programs) requireAscii(path);
  await build({
    ...files,
    // Not a module: Node gets to such a file sooner.
    entryPoints: { skillbox: 'src/cli/skillbox.ts' },
    plugins: [beside({ './main.ts': './commands.js', './io.ts': './io.js' })],
    define: { ...common.define, 'import.meta.url': '__filename', SKILLBOX_BUILD: JSON.stringify(digestOf(programs)) },
    banner: { js: '#!/usr/bin/env node' },
  });
  chmodSync(join(root, 'dist/cli/skillbox.cjs'), 0o755);
}

/** What these files are, all together. */
function digestOf(paths) {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(readFileSync(path));
  return hash.digest('hex').slice(0, 16);
}

/** One character beyond Latin-1, and V8 keeps the whole file in twice the memory, which is felt at every start. */
function requireAscii(path) {
  const at = readFileSync(path, 'latin1').search(/[^\0-\x7f]/);
  if (at >= 0) throw new Error(`${path}: write the character at ${at} as \\u… in the sources`);
}

/** Modules that are files of their own in dist/cli. */
function beside(files) {
  return {
    name: 'beside',
    setup(build) {
      build.onResolve({ filter: /^\.\.?\// }, ({ path }) =>
        Object.hasOwn(files, path) ? { path: files[path], external: true } : undefined,
      );
    },
  };
}

/** Each of these packages as a part of the file that it is in. */
const apart = {
  name: 'apart',
  setup(build) {
    const fileOf = new Map(Object.entries(APART).flatMap(([file, names]) => names.map(name => [name, file])));
    build.onResolve({ filter: /^[@a-z]/ }, ({ path }) => (fileOf.has(path) ? { path, namespace: 'apart' } : undefined));
    build.onResolve({ filter: /^\.\/vendor\// }, ({ path }) => ({ path, external: true }));
    build.onLoad({ filter: /.*/, namespace: 'apart' }, ({ path }) => ({
      contents: `module.exports = { __esModule: true, ...require(${JSON.stringify(fileOf.get(path))})[${JSON.stringify(path)}] };`,
    }));
  },
};
