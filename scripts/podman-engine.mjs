// A Podman engine for the tests alone: its own storage, configuration and socket, and the image of the Docker tests.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apart, importImage, isUp, makeImage } from './docker-engine.mjs';
import { say } from './setup.mjs';

/** No systemd is asked for anything, and no lock is shared with a Podman that somebody else uses. */
const CONFIGURATION = '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\nlock_type = "file"\n';

export function hasPodman() {
  return spawnSync('podman', ['--version']).status === 0;
}

/** Starts it and imports the image; null, with the reason said, when that cannot be done here. */
export function startPodman() {
  const scratch = mkdtempSync(join(tmpdir(), 'skillbox-podman-'));
  const socket = join(scratch, 'podman.sock');
  const configuration = join(scratch, 'containers.conf');
  writeFileSync(configuration, CONFIGURATION);
  const log = openSync(join(scratch, 'log'), 'w');
  const places = ['root', 'runroot', 'tmpdir'].map(name => `--${name}=${join(scratch, name)}`);
  const [program, ...words] = apart(['podman', ...places, 'system', 'service', '--time', '0', `unix://${socket}`]);
  const env = { ...process.env, CONTAINERS_CONF: configuration };
  // Where it stands, its monitors leave a file for each container that ran out of memory.
  const engine = spawn(program, words, { stdio: ['ignore', log, log], env, cwd: scratch });
  const stop = () => {
    engine.kill('SIGTERM');
    // Dead or waiting for us to notice, which we do not while we wait for it.
    const gone = `! [ -d /proc/${engine.pid} ] || grep -q '^State:.Z' /proc/${engine.pid}/status`;
    spawnSync('sh', ['-c', `i=0; until ${gone} || [ $i -gt 100 ]; do sleep 0.1; i=$((i+1)); done`]);
    // What it leaves of its own cgroups is empty by now; one that is in use stays.
    spawnSync('sh', ['-c', 'find /sys/fs/cgroup/*/libpod_parent -depth -type d -exec rmdir {} +']);
    rmSync(scratch, { recursive: true, force: true });
  };
  const failed = what => {
    say(`No Podman engine for the tests: ${what}`);
    stop();
    return null;
  };
  if (!isUp(socket)) return failed(`podman does not answer (see ${scratch}/log)`);
  const archive = makeImage();
  if (archive === null) return failed('the image could not be made');
  if (!importImage(socket, archive)) return failed('the image could not be imported');
  return { socket, stop };
}
