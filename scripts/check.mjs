// `npm run check`: types, lint, build, generated documents, all tests. Ends with a line that counts the tests.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, say } from './setup.mjs';

for (const [what, script] of [
  ['Types', 'types'],
  ['Lint', 'lint'],
  ['Build', 'build'],
]) {
  say(`\n— ${what}`);
  run('npm', ['run', '--silent', script]);
}
say('\n— Documents');
run('npm', ['run', '--silent', 'docs', '--', '--check']);

say('\n— Tests');
const scratch = mkdtempSync(join(tmpdir(), 'skillbox-check-'));
try {
  const report = join(scratch, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const { status } = spawnSync('npm', ['run', '--silent', 'unit', '--', ...reporters], { stdio: 'inherit' });
  const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(report, 'utf8'));
  process.stdout.write(`${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped\n`);
  process.exitCode = status ?? 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
