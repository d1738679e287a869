// Builds the programs in helper/ into dist/helper/ with the machine's C compiler. A rerun with nothing new does nothing.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** What the sandbox needs. Every run starts it: with musl that takes a third of the time that glibc needs to look at the processor. */
export function buildHelper() {
  return build('skillbox-helper', [...MUSL, ...FLAGS]);
}

/** What makes a scan of many skills faster. */
export function buildScanner() {
  return build('skillbox-scan');
}

const FLAGS = ['-std=gnu11', '-static', '-s', '-O2', '-Wall', '-Wextra', '-Werror', '-fstack-protector-strong'];
const CC = [process.env.CC ?? 'cc', ...FLAGS, '-D_FORTIFY_SOURCE=2'];
/** The kernel's own headers are not musl's: they lie where the system has them. */
const ARCHITECTURE = { x64: 'x86_64', arm64: 'aarch64' }[process.arch] ?? process.arch;
const MUSL = [
  'musl-gcc',
  ...['/usr/include', `/usr/include/${ARCHITECTURE}-linux-gnu`].flatMap(path => ['-idirafter', path]),
];

/** `better` is used where it is there and can, unless the environment names a compiler. */
function build(name, better = null) {
  const source = join(root, 'helper', `${name}.c`);
  const target = join(root, 'dist', 'helper', `${name}-${process.arch}`);
  if (existsSync(target) && statSync(target).mtimeMs >= changedAt()) return target;
  mkdirSync(dirname(target), { recursive: true });
  const built = `${target}.${process.pid}`;
  const made = ['-o', built, source];
  const [program, ...words] = process.env.CC === undefined && better !== null ? better : [];
  const isBuilt = program !== undefined && spawnSync(program, [...words, ...made], { stdio: 'ignore' }).status === 0;
  if (!isBuilt) execFileSync(CC[0], [...CC.slice(1), ...made], { stdio: 'inherit' });
  renameSync(built, target);
  return target;
}

/** The last change of any source: what they include is not looked into. */
function changedAt() {
  const sources = readdirSync(join(root, 'helper')).filter(name => /\.[ch]$/.test(name));
  return Math.max(...sources.map(name => statSync(join(root, 'helper', name)).mtimeMs));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(`${buildHelper()}\n${buildScanner()}`);
