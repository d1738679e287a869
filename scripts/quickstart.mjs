// From a fresh clone to a first result: installs what is missing, builds, and shows what Skillbox does with a skill.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installPackages, root, run, say } from './setup.mjs';

installPackages();
say('Building …');
run('npm', ['run', '--silent', 'build']);

const example = 'examples/skillbox/word-count';
const out = mkdtempSync(join(tmpdir(), 'skillbox-quickstart-'));
try {
  for (const args of [
    ['skill', 'show', example],
    ['skill', 'lint', 'examples'],
    ['skill', 'package', example, '-o', `${out}/`],
  ]) {
    say(`\n$ ./skillbox ${args.join(' ')}`);
    run(join(root, 'skillbox'), args);
  }
} finally {
  rmSync(out, { recursive: true, force: true });
}
say('\nReady. Next: ./skillbox skill init my-skill, and ./skillbox --help');
