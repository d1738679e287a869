// From a fresh clone to a first result: installs what is missing, builds, and runs an example skill in the sandbox.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installSystemPackages } from './packages.mjs';
import { installPackages, root, run, say } from './setup.mjs';

installPackages();
const canRun = installSystemPackages();
say('Building …');
run('npm', ['run', '--silent', 'build']);

const example = 'examples/skillbox/word-count';
const out = mkdtempSync(join(tmpdir(), 'skillbox-quickstart-'));
const steps = [['skill', 'lint', 'examples']];
if (canRun) steps.push(['run', example, '--input', '{"text":"to be or not to be"}', '--download', out]);
else steps.push(['skill', 'show', example]);
try {
  for (const args of steps) {
    say(`\n$ ./skillbox ${args.map(word => (/^[\w./-]+$/.test(word) ? word : `'${word}'`)).join(' ')}`);
    run(join(root, 'skillbox'), args);
  }
} finally {
  rmSync(out, { recursive: true, force: true });
}
if (canRun) say('\nReady. Next: ./skillbox skill init my-skill, and ./skillbox --help');
else {
  say('\nSkills can be read and linted here, but not run yet: above is what is missing. With it: npm run quickstart');
  process.exitCode = 1;
}
