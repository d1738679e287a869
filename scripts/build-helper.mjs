// Builds the programs in helper/ into dist/helper/ with the machine's C compiler. A rerun with nothing new does nothing.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** What the sandbox needs. */
export function buildHelper() {
  return build('skillbox-helper');
}

/** What makes a scan of many skills faster. */
export function buildScanner() {
  return build('skillbox-scan');
}

function build(name) {
  const source = join(root, 'helper', `${name}.c`);
  const target = join(root, 'dist', 'helper', `${name}-${process.arch}`);
  if (existsSync(target) && statSync(target).mtimeMs >= changedAt()) return target;
  mkdirSync(dirname(target), { recursive: true });
  const built = `${target}.${process.pid}`;
  const flags = [
    '-std=gnu11',
    '-static',
    '-O2',
    '-Wall',
    '-Wextra',
    '-Werror',
    '-fstack-protector-strong',
    '-D_FORTIFY_SOURCE=2',
  ];
  execFileSync(process.env.CC ?? 'cc', [...flags, '-s', '-o', built, source], { stdio: 'inherit' });
  renameSync(built, target);
  return target;
}

/** The last change of any source: what they include is not looked into. */
function changedAt() {
  const sources = readdirSync(join(root, 'helper')).filter(name => /\.[ch]$/.test(name));
  return Math.max(...sources.map(name => statSync(join(root, 'helper', name)).mtimeMs));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(`${buildHelper()}\n${buildScanner()}`);
