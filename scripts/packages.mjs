// System packages that running and testing need, installed when that is allowed, with a word on each.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { findPostgres } from './postgres.mjs';
import { say } from './setup.mjs';

/** For running skills. `missing` is asked first, so that a machine that has everything is left alone. */
const PACKAGES = {
  bubblewrap: { why: 'the sandbox that skills run in', missing: () => !onPath('bwrap') },
  gcc: { why: "builds the sandbox's static helper", missing: () => !onPath('cc') },
  'libc6-dev': {
    why: "builds the sandbox's static helper",
    missing: () => !existsSync('/usr/lib/x86_64-linux-gnu/libc.a') && !existsSync('/usr/lib/aarch64-linux-gnu/libc.a'),
  },
  'musl-tools': {
    why: 'builds that helper so that it starts in a third of the time',
    missing: () => !onPath('musl-gcc'),
    optional: true,
  },
};

/** Beside those, for the tests: a Docker engine, what makes an image for it without pulling one, and a database. */
const TEST_PACKAGES = {
  'docker.io': { why: 'the engine of the Docker sandbox', missing: () => !onPath('dockerd') },
  podman: { why: 'the other engine that the Docker sandbox speaks to', missing: () => !onPath('podman') },
  crun: { why: 'a second OCI runtime, for the setting that names one', missing: () => !onPath('crun') },
  mmdebstrap: { why: 'makes the image for the Docker tests', missing: () => !onPath('mmdebstrap') },
  'busybox-static': { why: 'a whole system in one file, for the tests of images', missing: () => !onPath('busybox') },
  curl: { why: 'talks to the Docker engine, and through the broker', missing: () => !onPath('curl') },
  git: { why: 'clones through the broker', missing: () => !onPath('git') },
  openssl: { why: "judges the broker's certificates", missing: () => !onPath('openssl') },
  radosgw: { why: 'the S3 server of the larger store', missing: () => !onPath('radosgw') },
  'ceph-mon': { why: 'the S3 server needs it', missing: () => !onPath('ceph-mon') },
  'ceph-osd': { why: 'the S3 server needs it', missing: () => !onPath('ceph-osd') },
  'ceph-common': { why: 'sets the S3 server up', missing: () => !onPath('ceph') },
  postgresql: { why: 'the database of the larger store', missing: () => findPostgres() === null },
  'dbus-daemon': { why: 'the bus that a keyring is asked over', missing: () => !onPath('dbus-daemon') },
  'gnome-keyring': { why: 'a keyring for the master key', missing: () => !onPath('gnome-keyring-daemon') },
  zip: { why: "writes archives that are not ours, for the reader's tests", missing: () => !onPath('zip') },
  unzip: { why: "reads ours, for the writer's tests", missing: () => !onPath('unzip') },
  'python3-pip': {
    why: 'builds Python layers',
    missing: () => spawnSync('/usr/bin/python3', ['-m', 'pip', '--version']).status !== 0,
  },
};

function onPath(name) {
  return spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;
}

/** What to put before a command so that it runs as root without asking anybody; null where that is not allowed. */
function asRoot() {
  if (process.getuid?.() === 0) return [];
  return spawnSync('sudo', ['-n', 'true']).status === 0 ? ['sudo', '-n'] : null;
}

/** Installs what is missing with apt, where that is allowed; otherwise says the command. Answers whether everything is there. */
export function installSystemPackages({ forTests = false } = {}) {
  if (process.platform !== 'linux') {
    say('Skills run on Linux, or through Docker elsewhere; reading, linting and packaging work here.');
    return false;
  }
  const lacking = Object.entries(forTests ? { ...PACKAGES, ...TEST_PACKAGES } : PACKAGES).filter(([, { missing }]) =>
    missing(),
  );
  const wanted = lacking.filter(([, { optional = false }]) => !optional);
  const before = onPath('apt-get') ? asRoot() : null;
  // What is only better is no reason to bother anybody who may not install, and none to stop where it cannot be had.
  const better = before === null ? [] : lacking.filter(([, { optional = false }]) => optional);
  for (const [name, { why }] of [...wanted, ...better]) say(`Missing: ${name} (${why})`);
  const names = wanted.map(([name]) => name);
  if (before === null) {
    if (names.length > 0) say(`Install them with: sudo apt-get install -y ${names.join(' ')}`);
    return names.length === 0;
  }
  const apt = (...words) => {
    const [program, ...rest] = [...before, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-qq', ...words];
    return spawnSync(program, rest, { stdio: ['ignore', 'ignore', 'inherit'] }).status;
  };
  const install = all => {
    say(`Installing ${all.join(', ')} with apt-get …`);
    const status = apt('install', '-y', '--no-install-recommends', ...all);
    if (status !== 0) say(`apt-get could not install them; try: apt-get install -y ${all.join(' ')}`);
    return status === 0;
  };
  if (wanted.length + better.length > 0) apt('update');
  const isWhole = names.length === 0 || install(names);
  for (const [name] of better) install([name]);
  return isWhole;
}
