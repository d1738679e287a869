// `npm run vm -- [--arch x64|arm64] [SUITE…]`: boots a Debian of its own and runs the named suites in it (docs/vm.md).
// It ends with their result. Nothing of it is part of `npm test`: an emulated processor is slow.
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root, run, say } from './setup.mjs';
import { MACHINES, makeImage, packSources } from './vm-image.mjs';

const SUITES = ['root', 'session', 'plain', 'service', 'container'];
/** Its clock counts instructions, one a nanosecond, and skips what is waited: a limit means the same on a busy machine as on an idle one. */
const EMULATED = ['-accel', 'tcg,tb-size=1024', '-icount', 'shift=0,sleep=off', '-rtc', 'clock=vm'];
const END = /^vm: (\w+) (passed|failed)/;

const { values, positionals } = readArguments();
const machine = MACHINES[values.arch];
if (machine === undefined || positionals.some(name => !SUITES.includes(name))) endWithUsage();
const suites = positionals.length === 0 ? SUITES : positionals;
requirePrograms(machine);

run('npm', ['run', '--silent', 'build']);
mkdirSync(values.cache, { recursive: true });
const image = await makeImage(values.arch, values.cache);
const scratch = mkdtempSync(join(tmpdir(), 'skillbox-vm-'));
try {
  const sources = join(scratch, 'sources.tar');
  packSources(sources);
  const ended = await boot(machine, image, sources);
  const missing = suites.filter(name => !ended.has(name));
  for (const name of missing) say(`vm: ${name} did not end`);
  process.exitCode = missing.length === 0 && [...ended.values()].every(Boolean) ? 0 : 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function readArguments() {
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'skillbox-vm');
  const defaults = { arch: process.arch, cache, minutes: '90', memory: '3072', files: '' };
  const options = Object.entries(defaults).map(([name, value]) => [name, { type: 'string', default: value }]);
  try {
    return parseArgs({ allowPositionals: true, options: Object.fromEntries(options) });
  } catch {
    return endWithUsage();
  }
}

function endWithUsage() {
  const options = '[--cache DIR] [--minutes N] [--memory MB] [--files FILE,…]';
  say(`usage: npm run vm -- [--arch ${Object.keys(MACHINES).join('|')}] ${options} [${SUITES.join('|')} …]`);
  process.exit(2);
}

/** Says what is missing and how to get it, before anything is made. */
function requirePrograms({ emulator, emulatorPackage }) {
  const needed = { [emulator]: emulatorPackage, mmdebstrap: 'mmdebstrap', 'mkfs.ext4': 'e2fsprogs' };
  if (values.arch !== process.arch)
    Object.assign(needed, { 'qemu-aarch64-static': 'qemu-user-static', 'arch-test': 'arch-test' });
  const path = `${process.env.PATH}:/usr/sbin:/sbin`;
  process.env.PATH = path;
  const missing = Object.entries(needed).filter(([name]) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
  if (missing.length > 0) {
    say(
      `vm: missing; install with: apt-get install -y --no-install-recommends ${missing.map(([, of]) => of).join(' ')}`,
    );
    process.exit(2);
  }
  if (process.getuid?.() !== 0) {
    say('vm: a root file system with the owners that it needs can be made by root only');
    process.exit(2);
  }
}

/** Which suites ended, and whether well. */
async function boot(
  { emulator, machine: words, processor, console: terminal },
  { kernel, first, root: disk, modules },
  sources,
) {
  const fast = values.arch === process.arch && hasVirtualization();
  const drive = (file, more) => ['-drive', `file=${file},format=raw,if=virtio,${more}`];
  const told = { suites: suites.join(','), files: values.files };
  const append = [
    `console=${terminal} quiet loglevel=1 panic=-1 mitigations=off systemd.show_status=no`,
    ...Object.entries(told).map(([name, value]) => `skillbox.${name}=${value}`),
  ].join(' ');
  const args = [
    ...words,
    ...(fast ? ['-accel', 'kvm', '-cpu', 'host'] : [...EMULATED, '-cpu', processor]),
    ...`-smp 1 -m ${values.memory} -nic none -display none -monitor none -serial stdio -no-reboot`.split(' '),
    '-kernel',
    kernel,
    '-initrd',
    first,
    '-append',
    append,
    ...drive(disk, 'snapshot=on'),
    ...drive(modules, 'snapshot=on'),
    ...drive(sources, 'readonly=on'),
  ];
  say(`vm: boots ${emulator} (${fast ? 'kvm' : 'emulated: slow'}), suites: ${suites.join(' ')}`);
  const child = spawn('nice', ['-n', '10', emulator, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), Number(values.minutes) * 60_000);
  const ended = new Map();
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', text => {
    process.stdout.write(text);
    const lines = `${rest}${text}`.split(/\r?\n/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const found = END.exec(line);
      if (found) ended.set(found[1], found[2] === 'passed');
    }
  });
  await new Promise(resolve => child.once('close', resolve));
  clearTimeout(timer);
  return ended;
}

/** A KVM device that the processor stands behind; some machines have one without the other. */
function hasVirtualization() {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK);
    return process.arch === 'arm64' || /^flags\s*:.*\b(vmx|svm)\b/m.test(readFileSync('/proc/cpuinfo', 'utf8'));
  } catch {
    return false; // no device, or not for us: slower, and the same result
  }
}
