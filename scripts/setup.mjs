// Installs what the repository needs. Runs on any Node from 20, before anything is installed: Node's own modules only.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

export function say(text) {
  process.stderr.write(`${text}\n`);
}

/** Runs a command in the repository and ends the process with its code when it fails. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (result.error) {
    say(`cannot start ${command}: ${result.error.message}`);
    process.exit(1);
  }
  if (result.status !== 0) process.exit(result.status ?? 1);
  return result;
}

/** Installs the packages of the lockfile when they are missing or older than it. */
export function installPackages() {
  const [major = 0] = process.versions.node.split('.').map(Number);
  if (major < 20) {
    say(`Node 20 or newer is needed to set up, this is ${process.versions.node}. Install one from nodejs.org.`);
    process.exit(2);
  }
  const installed = join(root, 'node_modules/.package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs) return;
  say('Installing the npm packages of package-lock.json into node_modules …');
  // Not `npm ci`: the lockfile holds the optional packages of the platform that wrote it, and ci refuses the others' absence.
  // Versions and integrity come from the lockfile all the same, and --no-save leaves it as it is.
  run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']);
}
