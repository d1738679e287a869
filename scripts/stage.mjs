// `npm run stage -- DIRECTORY`: what an image holds of Skillbox, from what was built here. An image then needs no package registry.
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { EXTERNALS, OPTIONAL } from './externals.mjs';
import { root, say } from './setup.mjs';

const target = resolve(process.argv[2] ?? join(root, 'dist/image'));
if (!existsSync(join(root, 'dist/cli/skillbox.cjs'))) {
  say('There is no dist/; run: npm run build');
  process.exit(1);
}
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
for (const part of ['dist/cli', 'dist/helper', 'deploy/entrypoint.sh', 'examples', 'LICENSE']) {
  cpSync(join(root, part), join(target, part), { recursive: true });
}
const { name, version, license, type } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
writeFileSync(join(target, 'package.json'), `${JSON.stringify({ name, version, license, type }, null, 2)}\n`);
const done = new Set();
for (const external of EXTERNALS) stagePackage(external, !OPTIONAL.includes(external));
say(`Staged in ${target}`);

/** A package and what it depends on; what is optional and not there is for another machine. */
function stagePackage(external, required) {
  if (done.has(external)) return;
  done.add(external);
  const from = join(root, 'node_modules', external);
  if (!existsSync(from)) {
    if (!required) return;
    say(`${external} is not installed; run: npm install`);
    process.exit(1);
  }
  const to = join(target, 'node_modules', external);
  mkdirSync(dirname(to), { recursive: true });
  cpSync(realpathSync(from), to, { recursive: true });
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
  for (const each of Object.keys(dependencies)) stagePackage(each, true);
  for (const each of Object.keys(optionalDependencies)) stagePackage(each, false);
}
