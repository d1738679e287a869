import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import type { Handle } from '../sandbox/index.ts';
import { readLeft } from './left.ts';
import type { Lock } from './lock.ts';
import { parseNpmLock } from './npm-lock.ts';
import { parseManifest } from './npm-manifest.ts';
import { certificates, OUT, PROXY, runStep, type Workshop } from './step.ts';
import { placeNpm } from './tools.ts';

const MAX_LOCK_BYTES = 64 * 1024 ** 2;

/** Runs inside: npm writes beside its input, so the input is copied to where it may write. */
const DRIVER = `
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
for (const name of ['package.json', 'package-lock.json'])
  if (existsSync('/build/' + name)) writeFileSync('${OUT}/' + name, readFileSync('/build/' + name));
const [npm, ...words] = process.argv.slice(2);
const { status } = spawnSync(process.execPath, [npm, ...words], { cwd: '${OUT}', stdio: 'inherit' });
process.exitCode = status ?? 1;
`;

type Files = { packageJson: string; lock: string | null };

async function runNpm(workshop: Workshop, doing: string, words: string[], files: Files, scripts: boolean) {
  const [index, ca, npm] = await Promise.all([workshop.index(), certificates(), npmFor(workshop)]);
  return runStep(workshop, {
    manager: 'npm',
    doing,
    argv: [
      workshop.interpreter,
      '/build/npm.mjs',
      npm.cli,
      ...words,
      '--no-audit',
      '--no-fund',
      '--no-progress',
      '--loglevel=http',
    ],
    env: {
      // No file of the image or the host adds anything.
      npm_config_userconfig: '/dev/null',
      npm_config_globalconfig: '/build/none',
      npm_config_cache: `${OUT}/tmp/npm`,
      npm_config_update_notifier: 'false',
      npm_config_registry: index.url,
      npm_config_replace_registry_host: 'never',
      npm_config_omit_lockfile_registry_resolved: 'true',
      npm_config_proxy: PROXY,
      npm_config_https_proxy: PROXY,
      npm_config_noproxy: '',
      npm_config_fetch_retries: '1',
      npm_config_fetch_retry_mintimeout: '1000',
      npm_config_fetch_timeout: '60000',
      npm_config_ignore_scripts: String(!scripts),
      ...(ca === null ? {} : { npm_config_cafile: ca.at }),
    },
    files: {
      'npm.mjs': DRIVER,
      'package.json': files.packageJson,
      ...(files.lock === null ? {} : { 'package-lock.json': files.lock }),
    },
    binds: [...(ca === null ? [] : [ca]), ...(npm.bind === null ? [] : [npm.bind])],
    network: true,
  });
}

/** An image brings its own; otherwise it is the host's. */
async function npmFor(workshop: Workshop) {
  const inside = await workshop.inside();
  return inside === null ? placeNpm(workshop.programs) : { cli: inside.npmCli, bind: null };
}

/** Names and ranges to exact versions with their hashes; nothing is installed. */
export async function resolvePackages(workshop: Workshop, packageJson: string): Promise<Lock> {
  const words = ['install', '--package-lock-only'];
  const handle = await runNpm(workshop, 'resolve', words, { packageJson, lock: null }, false);
  try {
    const manifest = parseManifest(packageJson);
    if (manifest === null) throw new SkillboxError('INTERNAL', 'a manifest without packages was to be resolved');
    return parseNpmLock(await readLeft(() => readPlain(join(handle.path(OUT), 'package-lock.json'))), manifest);
  } finally {
    await handle.dispose();
  }
}

export function installPackages(
  workshop: Workshop,
  packageJson: string,
  lock: Lock,
  scripts: boolean,
): Promise<Handle> {
  return runNpm(workshop, 'install', ['ci', '--omit=dev'], { packageJson, lock: lock.text }, scripts);
}

/** From a directory that a sandbox wrote to: no link is followed. */
async function readPlain(path: string): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const info = await file.stat();
    if (!info.isFile()) throw new SkillboxError('DEPENDENCIES_FAILED', 'npm left no lock of what it resolved');
    const { size } = info;
    if (size > MAX_LOCK_BYTES) throw new SkillboxError('DEPENDENCIES_FAILED', `npm wrote a lock of ${size} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
