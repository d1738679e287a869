import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { SkillboxError } from '../base/index.ts';
import type { Handle } from '../sandbox/index.ts';
import { readLeft } from './left.ts';
import type { Lock } from './lock.ts';
import { certificates, OUT, PROXY, runStep, type Step, type Workshop } from './step.ts';
import { parseWheelName, renderWheelLock, type Wheel } from './wheel-lock.ts';

const PIP = ['-I', '-m', 'pip'];
const QUIET = ['--isolated', '--disable-pip-version-check', '--no-input', '--no-cache-dir', '--progress-bar', 'off'];
const THROUGH_PROXY = ['--proxy', PROXY, '--timeout', '30', '--retries', '2'];
const FROM_WHEELS = [
  '--no-index',
  '--find-links',
  '/build/wheels',
  '--require-hashes',
  '--no-deps',
  '--only-binary=:all:',
  '--no-compile',
  '--no-warn-script-location',
];
// --isolated leaves the global files; this leaves none.
const ENV = { PIP_CONFIG_FILE: '/dev/null' };

/** Runs inside: pip from the wheels at hand, then every module compiled for the interpreter that will load it. */
const INSTALL = `
import compileall, py_compile, subprocess, sys
code = subprocess.call([sys.executable, '-I', '-m', 'pip', *sys.argv[1:]])
if code == 0:
    # By hash and unchecked: a layer never changes, and its times say nothing. A file that does not compile stays source.
    compileall.compile_dir('${OUT}/site-packages', quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
sys.exit(code)
`;

export type Downloaded = { lock: Lock; wheels: Handle };

/**
 * The only step that reaches the index. Wheels are unpacked in the next one, without a network. With a lock already
 * known, exactly its files are fetched.
 */
export async function downloadWheels(
  workshop: Workshop,
  requirements: string,
  known: Lock | null,
  sources: boolean,
): Promise<Downloaded> {
  const index = await workshop.index();
  const ca = await certificates();
  const url = new URL(index.url);
  const step: Step = {
    manager: 'pip',
    doing: known === null ? 'resolve' : 'fetch',
    argv: [
      workshop.interpreter,
      ...PIP,
      ...(sources ? ['wheel', '-w'] : ['download', '-d']),
      `${OUT}/wheels`,
      ...QUIET,
      '--index-url',
      index.url,
      ...THROUGH_PROXY,
      ...(url.protocol === 'http:' ? ['--trusted-host', url.hostname] : []),
      ...(ca === null ? [] : ['--cert', ca.at]),
      ...(sources ? [] : ['--only-binary=:all:']),
      ...(known === null ? [] : ['--require-hashes', '--no-deps']),
      '-r',
      '/build/requirements.txt',
    ],
    env: ENV,
    files: { 'requirements.txt': known?.text ?? requirements },
    binds: ca === null ? [] : [ca],
    network: true,
  };
  const wheels = await runStep(workshop, step);
  try {
    const text = renderWheelLock(await readLeft(() => readWheels(join(wheels.path(OUT), 'wheels'))));
    // What was built from source here has a hash that no other build would give.
    return { lock: known ?? { text, hashed: !sources }, wheels };
  } catch (error) {
    await wheels.dispose();
    throw error;
  }
}

/** Hashed by us, from the files themselves: neither the index nor pip is taken at its word. */
async function readWheels(directory: string): Promise<Wheel[]> {
  // Threat: the pip of an image is a stranger's; a link in this place would have us look into a directory of the host.
  if (!(await lstat(directory).catch(() => null))?.isDirectory())
    throw new SkillboxError('DEPENDENCIES_FAILED', 'pip left no directory of wheels', {
      hint: 'Only packages that are published as wheels are installed.',
    });
  const entries = await readdir(directory, { withFileTypes: true });
  const wheels: Wheel[] = [];
  for (const entry of entries) {
    const parsed = entry.isFile() ? parseWheelName(entry.name) : null;
    if (parsed === null)
      throw new SkillboxError('DEPENDENCIES_FAILED', `pip downloaded ${entry.name}, which is no wheel`, {
        hint: 'Only packages that are published as wheels are installed.',
      });
    const hash = createHash('sha256');
    await pipeline(createReadStream(join(directory, entry.name)), hash);
    wheels.push({ ...parsed, sha256: hash.digest('hex') });
  }
  return wheels;
}

export async function installWheels(workshop: Workshop, lock: Lock, wheels: Handle): Promise<Handle> {
  return runStep(workshop, {
    manager: 'pip',
    doing: 'install',
    argv: [
      workshop.interpreter,
      '-I',
      '/build/install.py',
      'install',
      ...QUIET,
      ...FROM_WHEELS,
      '--target',
      `${OUT}/site-packages`,
      '-r',
      '/build/lock.txt',
    ],
    env: ENV,
    files: { 'install.py': INSTALL, 'lock.txt': lock.text },
    binds: [{ source: join(wheels.path(OUT), 'wheels'), at: '/build/wheels' }],
    network: false,
  });
}
