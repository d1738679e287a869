// A Docker engine for the tests alone: its own data, its own socket, no bridge, no firewall rules, one imported image.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, say } from './setup.mjs';

export const IMAGE = 'skillbox-test';
const CACHE = join(root, 'node_modules/.cache/skillbox');

/** A second OCI runtime, for the tests of the setting that names one. */
const CRUN = '/usr/bin/crun';
const UNIFIED = '/sys/fs/cgroup/unified';

/**
 * A command in a mount namespace of its own, so that what an engine mounts goes with it. crun refuses a host that has both versions
 * of cgroups, so the second is not there.
 */
export function apart(command) {
  const script = `umount ${UNIFIED} 2>/dev/null; exec "$@"`;
  return ['unshare', '--mount', '--propagation', 'slave', 'sh', '-c', script, 'sh', ...command];
}

/** Whether an engine answers at the socket, within half a minute. */
export function isUp(socket) {
  const ping = `curl -sf --unix-socket ${socket} http://engine/_ping >/dev/null`;
  const wait = `i=0; until ${ping}; do sleep 0.2; i=$((i+1)); [ $i -lt 150 ] || exit 1; done`;
  return spawnSync('sh', ['-c', wait]).status === 0;
}

export function importImage(socket, archive) {
  const type = 'Content-Type: application/x-tar';
  const url = `http://engine/images/create?fromSrc=-&repo=${IMAGE}`;
  return spawnSync('curl', ['-sf', '--unix-socket', socket, '-X', 'POST', '-H', type, '-T', archive, url]).status === 0;
}

/** Starts it and imports the image; null, with the reason said, when that cannot be done here. */
export function startEngine() {
  const scratch = mkdtempSync(join(tmpdir(), 'skillbox-engine-'));
  const socket = join(scratch, 'docker.sock');
  const log = openSync(join(scratch, 'log'), 'w');
  const [program, ...words] = apart([
    'dockerd',
    '--bridge=none',
    '--iptables=false',
    '--ip6tables=false',
    `--data-root=${scratch}/data`,
    `--exec-root=${scratch}/exec`,
    `--pidfile=${scratch}/pid`,
    `--host=unix://${socket}`,
    ...(existsSync(CRUN) ? [`--add-runtime=skillbox-crun=${CRUN}`] : []),
  ]);
  const engine = spawn(program, words, { stdio: ['ignore', log, log] });
  const stop = () => {
    engine.kill('SIGTERM');
    spawnSync('sh', ['-c', `i=0; while [ -e ${scratch}/pid ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done`]);
    rmSync(scratch, { recursive: true, force: true });
  };
  const failed = what => {
    say(`No Docker engine for the tests: ${what}`);
    stop();
    return null;
  };
  if (!isUp(socket)) return failed(`dockerd does not answer (see ${scratch}/log)`);
  const archive = makeImage();
  if (archive === null) return failed('the image could not be made');
  if (!importImage(socket, archive)) return failed('the image could not be imported');
  return { socket, stop };
}

/** A small Debian with bash, curl, python3 and bubblewrap, which the deployment is tried with as well; made once from the machine's own package source. */
export function makeImage() {
  const archive = join(CACHE, 'image-with-bubblewrap.tar');
  if (existsSync(archive)) return archive;
  say('Making the image for the Docker tests with mmdebstrap (about a minute) …');
  mkdirSync(CACHE, { recursive: true });
  const aside = join(CACHE, `image-${process.pid}.tar`);
  const made = spawnSync(
    'mmdebstrap',
    ['--quiet', '--variant=minbase', '--include=python3,bash,curl,bubblewrap', 'bookworm', aside],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  if (made.status !== 0) return null;
  spawnSync('mv', [aside, archive]);
  return archive;
}
