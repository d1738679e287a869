// What a virtual machine for the tests is made of, from Debian's packages: a kernel, a small first file system, a root, and the
// packages of npm. All of it is kept in a directory and made again only when something in it would differ.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { root, say } from './setup.mjs';

export const RELEASE = 'bookworm';

/** Per architecture, in Node's words: Debian's name, the kernel's package, the emulator and its machine. */
export const MACHINES = {
  x64: {
    debian: 'amd64',
    kernel: 'linux-image-cloud-amd64',
    emulator: 'qemu-system-x86_64',
    emulatorPackage: 'qemu-system-x86',
    machine: ['-M', 'q35'],
    console: 'ttyS0',
  },
  arm64: {
    debian: 'arm64',
    kernel: 'linux-image-cloud-arm64',
    emulator: 'qemu-system-aarch64',
    emulatorPackage: 'qemu-system-arm',
    machine: ['-M', 'virt'],
    console: 'ttyAMA0',
  },
};

/** What the suites use: a system with sessions, the sandbox, and what the attacks are written in. */
const PACKAGES = [
  ...['systemd', 'systemd-sysv', 'dbus', 'dbus-user-session', 'libpam-systemd', 'kmod', 'procps'],
  ...['bubblewrap', 'python3', 'busybox-static', 'gcc', 'libc6-dev', 'git', 'curl'],
];

/** In the order in which they must be loaded; what a kernel has built in is not there. */
const MODULES = ['virtio', 'virtio_ring', 'virtio_pci_legacy_dev', 'virtio_pci_modern_dev', 'virtio_pci', 'virtio_blk'];
const EXT4 = ['crc16', 'mbcache', 'jbd2', 'crc32c_generic', 'libcrc32c', 'ext4'];

/** The first program: it loads what the disk needs, and hands over to systemd. */
const INIT = `#!/bin/busybox sh
/bin/busybox mount -t devtmpfs devtmpfs /dev
for module in $(/bin/busybox cat /modules/order); do /bin/busybox insmod /modules/$module || echo "no $module"; done
/bin/busybox mount -t ext4 /dev/vda /root && exec /bin/busybox switch_root /root /sbin/init
echo "vm: the root could not be mounted"
/bin/busybox poweroff -f
`;

/** Started by systemd at the end of its boot: the packages, the sources, and the script that came with them. */
const UNIT = `[Unit]
Description=The suites of Skillbox
After=multi-user.target systemd-logind.service dbus.service systemd-user-sessions.service
[Service]
Type=exec
ExecStart=/bin/sh -c 'mkdir -p /opt/skillbox/node_modules && tar -x -C /opt/skillbox -f /dev/vdc && mount -t ext4 /dev/vdb /opt/skillbox/node_modules && exec /bin/sh /opt/skillbox/test/vm/guest.sh'
ExecStopPost=/bin/systemctl poweroff --force --force
StandardOutput=tty
StandardError=tty
TTYPath=/dev/console
[Install]
WantedBy=default.target
`;

/** The kernel, the first file system, the root and the packages, as paths; made when they are not there. */
export function makeImage(arch, cache) {
  const machine = MACHINES[arch];
  const recipe = JSON.stringify([RELEASE, machine, PACKAGES, MODULES, EXT4, INIT, UNIT]);
  const system = join(cache, `system-${arch}-${hash(recipe)}`);
  if (!existsSync(system)) whole(system, at => makeSystem(machine, at));
  const lock = hash(readFileSync(join(root, 'package-lock.json')));
  const modules = join(cache, `modules-${arch}-${lock}.img`);
  if (!existsSync(modules)) whole(modules, at => makeModules(arch, at));
  return { kernel: join(system, 'kernel'), first: join(system, 'first.cpio'), root: join(system, 'root.img'), modules };
}

const hash = text => createHash('sha256').update(text).digest('hex').slice(0, 12);

/** Made beside it and renamed, so that what is there is complete. */
function whole(path, make) {
  const aside = `${path}.${process.pid}`;
  try {
    make(aside);
    renameSync(aside, path);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

function makeSystem(machine, at) {
  say(`vm: makes a Debian ${RELEASE} for ${machine.debian} …`);
  mkdirSync(at, { recursive: true });
  const tree = join(at, 'tree');
  const words = [
    '--quiet',
    '--variant=minbase',
    `--architectures=${machine.debian}`,
    `--include=${PACKAGES.join(',')}`,
  ];
  execFileSync('mmdebstrap', [...words, RELEASE, tree], { stdio: ['ignore', 'inherit', 'inherit'] });
  const kernel = unpackKernel(machine, at);
  const [version] = readdirSync(join(kernel, 'lib/modules'));
  execFileSync('cp', ['-a', join(kernel, 'lib/modules'), join(tree, 'usr/lib/')]);
  execFileSync('depmod', ['-b', tree, version]);
  execFileSync('cp', [join(kernel, `boot/vmlinuz-${version}`), join(at, 'kernel')]);
  writeFileSync(join(at, 'first.cpio'), firstFiles(tree, version));
  prepareTree(tree);
  makeExt4(join(at, 'root.img'), tree, 4096);
  for (const name of ['tree', 'package']) rmSync(join(at, name), { recursive: true, force: true });
}

/** The package that the newest kernel's own package names. */
function unpackKernel(machine, at) {
  const into = join(at, 'package');
  mkdirSync(into);
  const shown = execFileSync('apt-cache', ['show', `${machine.kernel}:${machine.debian}`], { encoding: 'utf8' });
  const name = /^Depends: (linux-image-\S+)/m.exec(shown)?.[1];
  if (name === undefined) throw new Error(`${machine.kernel} names no kernel`);
  execFileSync('apt-get', ['download', '-qq', `${name}:${machine.debian}`], {
    cwd: into,
    stdio: ['ignore', 'inherit', 'ignore'],
  });
  const [file] = readdirSync(into);
  execFileSync('dpkg-deb', ['-x', file, '.'], { cwd: into });
  return into;
}

function prepareTree(tree) {
  writeFileSync(join(tree, 'etc/systemd/system/skillbox-suites.service'), UNIT);
  const wants = join(tree, 'etc/systemd/system/default.target.wants');
  execFileSync('sh', ['-ec', 'mkdir -p "$1"; ln -s ../skillbox-suites.service "$1/"', 'sh', wants]);
  execFileSync('chroot', [tree, 'useradd', '--create-home', '--shell', '/bin/bash', 'alice']);
  // As deploy/skillbox.service says.
  const account = ['--system', '--home-dir', '/var/lib/skillbox', '--shell', '/usr/sbin/nologin', 'skillbox'];
  execFileSync('chroot', [tree, 'useradd', ...account]);
  for (const unit of ['getty@.service', 'serial-getty@.service', 'systemd-timesyncd.service', 'apt-daily.timer'])
    execFileSync('ln', ['-sf', '/dev/null', join(tree, 'etc/systemd/system', unit)]);
  writeFileSync(join(tree, 'etc/hostname'), 'vm\n');
}

/** npm's packages, with the Node of the architecture. */
function makeModules(arch, at) {
  if (arch !== process.arch) throw new Error(`no npm packages for ${arch} yet`);
  const from = realpathSync(join(root, 'node_modules'));
  say('vm: makes a disk of the npm packages …');
  makeExt4(at, from, Math.ceil(sizeOf(from) * 1.3) + 256);
}

function sizeOf(path) {
  return Number(execFileSync('du', ['-sm', path], { encoding: 'utf8' }).split('\t')[0]);
}

function makeExt4(file, from, megabytes) {
  execFileSync(
    'mkfs.ext4',
    ['-q', '-F', '-O', '^has_journal', '-m', '0', '-N', '200000', '-d', from, file, `${megabytes}M`],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
}

/** A cpio archive, as the kernel takes it. */
function firstFiles(tree, version) {
  const found = execFileSync('find', [join(tree, 'usr/lib/modules', version), '-name', '*.ko'], { encoding: 'utf8' });
  const byName = new Map(found.split('\n').map(path => [path.split('/').at(-1)?.slice(0, -3), path]));
  const wanted = [...MODULES, ...EXT4].filter(name => byName.has(name));
  const entries = ['bin', 'dev', 'root', 'modules'].map(name => ({ name, mode: 0o40755, bytes: Buffer.alloc(0) }));
  const busybox = readFileSync(join(tree, 'bin/busybox'));
  entries.push({ name: 'bin/busybox', mode: 0o100755, bytes: busybox });
  entries.push({ name: 'init', mode: 0o100755, bytes: Buffer.from(INIT) });
  const order = wanted.map(name => `${name}.ko`).join('\n');
  entries.push({ name: 'modules/order', mode: 0o100644, bytes: Buffer.from(order) });
  for (const name of wanted)
    entries.push({ name: `modules/${name}.ko`, mode: 0o100644, bytes: readFileSync(byName.get(name)) });
  entries.push({ name: 'TRAILER!!!', mode: 0, bytes: Buffer.alloc(0) });
  return Buffer.concat(entries.flatMap((entry, index) => cpioEntry(entry, index + 1)));
}

function cpioEntry({ name, mode, bytes }, inode) {
  const fields = [inode, mode, 0, 0, 1, 0, bytes.length, 0, 0, 0, 0, name.length + 1, 0];
  const head = `070701${fields.map(field => field.toString(16).padStart(8, '0')).join('')}${name}\0`;
  const padded = text => Buffer.concat([text, Buffer.alloc(-text.length & 3)]);
  return [padded(Buffer.from(head)), padded(bytes)];
}

/** The sources as they stand, and what was built of them: a tar that is the disk. */
export function packSources(at) {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    maxBuffer: 64 << 20,
  });
  const names = list
    .toString('utf8')
    .split('\0')
    .filter(name => name !== '' && existsSync(join(root, name)));
  mkdirSync(dirname(at), { recursive: true });
  execFileSync('tar', ['-c', '--owner=0', '--group=0', '--no-recursion', '-f', at, '--null', '-T', '-'], {
    cwd: root,
    input: names.join('\0'),
  });
  execFileSync('tar', ['-r', '--owner=0', '--group=0', '-f', at, 'dist'], { cwd: root });
  chmodSync(at, 0o600);
}
