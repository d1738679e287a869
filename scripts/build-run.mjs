// `skillbox run` as three files, each loaded when it is time: early-run.cjs begins the sandbox, run.cjs is what every run takes, and
// run-later.cjs what few do. A module is in one of them only, so that whatever it holds, it holds once.
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';

/** The rooms that a sandbox is begun with, and what begins it. */
const EARLY = [
  'src/cli/early-run.ts',
  'src/drivers.ts',
  'src/sandbox/index.ts',
  'src/config/index.ts',
  'src/base/index.ts',
];
const MAIN = 'src/cli/run-program.ts';
/** Loaded on demand elsewhere; every run demands them. Without a function around each module they are there sooner. */
const AT_ONCE = new Set(['src/app.ts', 'src/cli/run-skill.ts']);

/** `options`: those of any program of ours that is a file. Answers the names of the files. */
export async function buildRun(root, { plugins, ...options }) {
  const make = (file, ...own) => build({ ...options, metafile: true, plugins: [...own, ...plugins], ...file });
  const at = name => `dist/cli/${name}`;
  await make(oneFile(at('early-run.cjs'), EARLY, root), late);
  const early = taking(root, './early-run.cjs', await namesOf(root, EARLY));
  const later = new Set();
  const { metafile } = await make(oneFile(at('run.cjs'), [MAIN], root), splitting(root, later), early);
  const inRun = Object.keys(metafile.inputs).filter(path => path.startsWith('src/'));
  const wanted = new Map();
  await make(
    lazyFile(at('run-later.cjs'), [...later], root),
    early,
    taking(root, './run.cjs', new Map(inRun.map(path => [path, null])), wanted),
  );
  // Again, for it has to hand out what the third file wants of it.
  await make(oneFile(at('run.cjs'), [MAIN, ...wanted.keys()], root), splitting(root, later), early);
  return ['early-run.cjs', 'run.cjs', 'run-later.cjs'];
}

/**
 * Modules of Node that take long to load, and are not needed before the sandbox is on its way: loaded with the first call of one of
 * their functions.
 */
const LATE = {
  'node:crypto': ['createHash', 'createHmac', 'randomBytes', 'randomUUID', 'timingSafeEqual'],
  'node:fs/promises': [
    'chmod',
    'chown',
    'cp',
    'lstat',
    'mkdir',
    'mkdtemp',
    'readdir',
    'readFile',
    'readlink',
    'realpath',
    'rename',
    'rm',
    'rmdir',
    'statfs',
    'symlink',
    'writeFile',
  ],
};

const late = {
  name: 'late',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^node:/ }, ({ path, namespace }) =>
      Object.hasOwn(LATE, path) && namespace !== 'late' ? { path, namespace: 'late' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'late' }, ({ path }) => {
      const call = name => `export const ${name} = (...words) => require(${JSON.stringify(path)}).${name}(...words);`;
      return { contents: LATE[path].map(call).join('') };
    });
  },
};

/** A file that hands these modules or packages out, each under its name. */
export function oneFile(outfile, modules, root) {
  return ofLines(
    outfile,
    modules.map(name => `export * as ${JSON.stringify(name)} from ${JSON.stringify(from(name))};`),
    root,
  );
}

/** The same; each is begun when it is first asked for. */
function lazyFile(outfile, modules, root) {
  const getters = modules.map(
    name => `get ${JSON.stringify(name)}() { return require(${JSON.stringify(from(name))}); },`,
  );
  return ofLines(outfile, ['module.exports = {', ...getters, '};'], root);
}

const from = name => (name.startsWith('src/') ? `./${name}` : name);

function ofLines(outfile, lines, root) {
  const stdin = { contents: lines.join('\n'), resolveDir: root, sourcefile: 'modules.js' };
  return { stdin, outfile, outdir: undefined, outExtension: undefined };
}

/** Of what is loaded on demand, what every run demands is loaded at once, and the rest from the third file, and listed in `later`. */
function splitting(root, later) {
  return {
    name: 'splitting',
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^\.\/run-later\.cjs$/ }, ({ path }) => ({ path, external: true }));
      onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
        const atOnce = [];
        const contents = readFileSync(path, 'utf8').replace(DYNAMIC, (_, from) => {
          const module = relative(root, join(dirname(path), from));
          if (AT_ONCE.has(module)) return `Promise.resolve(atOnce${atOnce.push(from) - 1})`;
          later.add(module);
          return `Promise.resolve().then(() => require('./run-later.cjs')[${JSON.stringify(module)}])`;
        });
        const imports = atOnce.map((from, at) => `import * as atOnce${at} from ${JSON.stringify(from)};`);
        return { contents: `${imports.join('')}${contents}`, loader: 'ts' };
      });
    },
  };
}

/** Of our own modules, and not where a type is meant. */
const DYNAMIC = /(?<!typeof )\bimport\('(\.[^']+\.ts)'\)(?!\.[A-Z])/g;

/**
 * These modules are taken from another file. With their names each is a variable of its own; without (null), which does for what
 * is rarely loaded, all are copied. A room that is there is so by its index alone. What is taken is put into `wanted`.
 */
function taking(root, file, modules, wanted = new Map()) {
  const rooms = [...modules.keys()]
    .filter(path => modules.get(path) !== null && path.endsWith('/index.ts'))
    .map(dirname);
  return {
    name: `taking from ${file}`,
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /^\.\.?\/.*\.c?[jt]s$/ }, ({ path, resolveDir, importer }) => {
        if (path === file) return { path, external: true };
        const module = relative(root, join(resolveDir, path));
        if (modules.has(module)) {
          wanted.set(module, null);
          return { path: module, namespace: file };
        }
        const room = rooms.find(each => module.startsWith(`${each}/`));
        if (room !== undefined)
          throw new Error(`${importer}: ${path} would be there twice; take it from ${room}/index.ts`);
        return undefined;
      });
      onLoad({ filter: /.*/, namespace: file }, ({ path }) => {
        const from = `require(${JSON.stringify(file)})[${JSON.stringify(path)}]`;
        const names = modules.get(path);
        if (names === null) return { contents: `module.exports = ${from};`, resolveDir: root };
        const lines = names.map(name => `export const ${name} = from.${name};`);
        return { contents: `const from = ${from};${lines.join('')}`, resolveDir: root };
      });
    },
  };
}

/** What each of these modules exports. */
async function namesOf(root, modules) {
  const names = new Map();
  for (const path of modules) {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: [path],
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      outdir: 'dist',
      write: false,
      metafile: true,
    });
    names.set(
      path,
      Object.values(metafile.outputs).flatMap(({ entryPoint, exports }) => (entryPoint === path ? exports : [])),
    );
  }
  return names;
}
