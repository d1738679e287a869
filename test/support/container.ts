import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { DOCKER_SOCKET } from './drivers.ts';
import { tempDir } from './temp.ts';

const root = join(import.meta.dirname, '../..');
const call = promisify(execFile);
const env = { ...process.env, DOCKER_HOST: `unix://${DOCKER_SOCKET}`, DOCKER_BUILDKIT: '0' };

export type Ran = { code: number; out: string; err: string };

/** What of the service in deploy/compose.yaml the engine is told, as one would tell it without compose. */
export type Service = {
  security_opt: string[];
  cap_drop: string[];
  cap_add: string[];
  read_only: boolean;
  tmpfs: string[];
  pids_limit: number;
  mem_limit: string;
  init: boolean;
  environment: Record<string, string>;
  command: string[];
};

export function composeService(): Service {
  const file = parse(readFileSync(join(root, 'deploy/compose.yaml'), 'utf8')) as { services: { skillbox: Service } };
  return file.services.skillbox;
}

const WRITABLE_CGROUPS = 'writable-cgroups=true';
const CONTROLLERS = ['memory', 'cpu', 'pids'];

/**
 * The same as `writable-cgroups` for an engine that does not know it, on a host of cgroup v1: cgroups of the container's own that it
 * may write. Null where neither is to be had.
 */
export function writableCgroups(name: string): { flags: string[]; remove: () => void } | null {
  const directories = CONTROLLERS.map(controller => `/sys/fs/cgroup/${controller}/${name}`);
  if (!CONTROLLERS.every(controller => existsSync(`/sys/fs/cgroup/${controller}/cgroup.procs`))) return null;
  for (const directory of directories) mkdirSync(directory);
  const mounts = CONTROLLERS.flatMap((controller, index) => [
    '--volume',
    `${directories[index]}:/sys/fs/cgroup/${controller}`,
  ]);
  return {
    flags: ['--cgroup-parent', `/${name}`, ...mounts],
    // The engine leaves its own below the parent that it was told.
    remove: () => void spawnSync('sh', ['-c', `find /sys/fs/cgroup/*/${name} -depth -type d -exec rmdir {} \\;`]),
  };
}

export function flagsOf(service: Service): string[] {
  return [
    `--pids-limit=${service.pids_limit}`,
    `--memory=${usual(service.mem_limit)}`,
    ...service.security_opt.flatMap(each =>
      each === WRITABLE_CGROUPS ? [] : ['--security-opt', each.replace('./', `${root}/deploy/`)],
    ),
    ...service.cap_add.flatMap(each => ['--cap-add', each]),
    ...service.cap_drop.flatMap(each => ['--cap-drop', each]),
    ...service.tmpfs.flatMap(each => ['--tmpfs', each]),
    ...(service.read_only ? ['--read-only'] : []),
    ...(service.init ? ['--init'] : []),
    ...Object.entries(service.environment).flatMap(([name, value]) => ['--env', `${name}=${usual(value)}`]),
  ];
}

/** What holds where nobody set the variable. */
function usual(value: string): string {
  return value.replace(/^\$\{\w+:-(.*)\}$/, '$1');
}

/** The engine of the tests has no bridge, so a container reaches nobody, or is on the host's network. */
export async function docker(...words: string[]): Promise<Ran> {
  try {
    const { stdout, stderr } = await call('docker', words, { env, maxBuffer: 64 * 1024 ** 2 });
    return { code: 0, out: stdout, err: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
    return { code: typeof code === 'number' ? code : -1, out: stdout, err: stderr };
  }
}

export function startDocker(words: string[]): ReturnType<typeof spawn> {
  return spawn('docker', words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
}

/**
 * The image of deploy/Containerfile, on a base that was made here: no image can be pulled for a test. The base gets the Node that
 * runs the tests.
 */
export function buildImage(base: string): { image: string; remove: () => void } {
  const image = `skillbox-try-${randomBytes(4).toString('hex')}`;
  const node = tempDir('node');
  copyFileSync(realpathSync(process.execPath), join(node, 'node'));
  const stage = join(tempDir('stage'), 'image');
  execFileSync(process.execPath, [join(root, 'scripts/stage.mjs'), stage], { stdio: ['ignore', 'ignore', 'pipe'] });
  const build = (name: string, file: string, context: string, ...more: string[]) => {
    const words = ['build', '--quiet', '--network', 'none', '--tag', name, '--file', file, ...more, context];
    const { status, stderr } = spawnSync('docker', words, { env, encoding: 'utf8' });
    if (status !== 0) throw new Error(`docker build: ${stderr}`);
  };
  const from = join(node, 'Containerfile');
  writeFileSync(from, `FROM ${base}\nCOPY node /usr/local/bin/node\n`);
  build(`${image}-base`, from, node);
  build(image, join(root, 'deploy/Containerfile'), stage, '--build-arg', `BASE=${image}-base`);
  return {
    image,
    remove: () => void spawnSync('docker', ['image', 'rm', '--force', image, `${image}-base`], { env }),
  };
}
