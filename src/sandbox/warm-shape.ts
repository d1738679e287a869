import { realpathSync, statSync } from 'node:fs';
import { type HostProgram, imageUsed } from './runtime.ts';
import { EGRESS_PORT, type RunSpec, type SandboxMount } from './sandbox.ts';
import { isForRunningBash } from './warm-bash.ts';
import { type Fill, type Place, surveySource } from './warm-files.ts';

/** How far a spare is ahead of its run: nothing started, or an interpreter that waits in our bootstrap. */
export type Boot = 'exec' | 'python' | 'node' | 'bash';

/** A read-only place that is empty when a spare is made, and filled when its run is known. */
export type Slot = { at: string; places: readonly Place[] };

/**
 * What can be done about a run before it is known. Two specs with the same key differ in nothing that is fixed when the
 * spare is made: runtime, layers, limits, network, tenant, mounts, and the variables an interpreter reads at its start.
 */
export type Shape = {
  key: string;
  /** For people: what the key is about. */
  label: string;
  boot: Boot;
  slots: readonly Slot[];
  /** The spec's mounts that are made with the spare. */
  mounts: readonly SandboxMount[];
  /** The interpreter's own options (of bash also the script), and its variables. */
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  around: Pick<RunSpec, 'limits' | 'runtime' | 'tenant'>;
  /** Null is no network at all. Never a socket: that is one run's own, and comes with it. */
  bridge: Bridge | null;
};

/** The loopback port that leads to the run's socket, once there is one at `at`. */
export type Bridge = { at: string; port: number };

export type Warmable = { shape: Shape; fills: ReadonlyMap<string, readonly Fill[]> };

/** Places at the root that the sandbox or another mount makes; a slot would cover them. */
const TAKEN = new Set([
  'proc',
  'sys',
  'dev',
  'tmp',
  'run',
  'root',
  'home',
  'opt',
  'etc',
  'usr',
  'bin',
  'sbin',
  'lib',
  'lib64',
  '.skillbox',
]);
/** Read by an interpreter or its C library as it starts, and the same in nearly all runs: part of the key. */
const AT_START = /^(PATH|HOME|TZ|LANG|LANGUAGE|LC_[A-Z]+)$/;
/** Read at the start as well, and free to name files of the skill: such a run's interpreter starts with the run. */
const TOO_EARLY = {
  // OpenSSL looks at SSL_CERT_FILE and SSL_CERT_DIR each time a context asks for the usual certificates, not before.
  python: /^(LD_|MALLOC_|GLIBC_|GCONV_|LOCPATH|NLSPATH|OPENSSL_|SSL_(?!CERT_(FILE|DIR)$)|PYTHON(?!PATH$))/,
  node: /^(LD_|MALLOC_|GLIBC_|GCONV_|LOCPATH|NLSPATH|OPENSSL_|SSL_|UV_|ICU_|NODE_(?!ENV$))/,
};
const PYTHON_OPTIONS = new Set(['-I', '-S', '-E', '-s', '-B', '-u']);

/** Null: nothing can be made ahead, and the run goes the usual way. `programs` are the spec's, resolved: none of an image. */
export function shapeOf(spec: RunSpec, programs: readonly HostProgram[]): Warmable | null {
  const parted = partMounts(spec);
  if (parted === null) return null;
  const { boot, options } = bootOf(spec);
  const env = boot === 'exec' ? {} : pick(spec.env, name => AT_START.test(name));
  const argv = [spec.argv[0] ?? '', ...options];
  const slots = [...parted.fills.keys()].sort().map(at => ({ at, places: placesIn(at, parted.fixed) }));
  const { limits, network, runtime, tenant } = spec;
  const around = { limits, runtime, tenant };
  const bridge = network.kind === 'none' ? null : { at: network.at, port: EGRESS_PORT };
  const key = JSON.stringify([
    boot,
    argv,
    programs.map(({ used, real, mounts }) => [used, real, mounts]),
    env,
    around,
    runtime.kind === 'image' ? identity(runtime.root) : null,
    bridge,
    slots,
    parted.fixed.map(mount => [mount, mount.kind === 'bind' ? identity(mount.source) : null]),
  ]);
  const label = [
    boot === 'exec' ? 'any program' : argv.join(' '),
    ...(runtime.kind === 'image' ? [imageUsed(runtime)] : []),
    ...(bridge === null ? [] : ['network']),
    ...(tenant === null ? [] : [tenant]),
  ].join(', ');
  return { shape: { key, label, boot, slots, mounts: parted.fixed, argv, env, around, bridge }, fills: parted.fills };
}

/** `exec` starts exactly what it would have started cold; the others must know the form of the command. */
function bootOf({ argv, env, runtime }: RunSpec): { boot: Boot; options: readonly string[] } {
  const none = { boot: 'exec', options: [] } as const;
  if (runtime.kind === 'image') return none; // somebody else's python: what it makes of our bootstrap, nobody tried
  const isTooEarly = (boot: keyof typeof TOO_EARLY) => Object.keys(env).some(name => TOO_EARLY[boot].test(name));
  const [program = '', ...rest] = argv;
  const first = rest.findIndex(word => !word.startsWith('-'));
  const script = rest[first] ?? '';
  const options = rest.slice(0, first);
  if (!script.startsWith('/')) return none;
  if (/^python3?$/.test(program) && script.endsWith('.py') && options.every(word => PYTHON_OPTIONS.has(word)))
    return isTooEarly('python') ? none : { boot: 'python', options };
  if (program === 'node' && /\.[cm]?js$/.test(script) && options.length === 0)
    return isTooEarly('node') ? none : { boot: 'node', options };
  // The script is named when the shell starts, so it is part of the key; nearly all have one of a few names.
  if (program === 'bash' && rest.length === 1 && isForRunningBash(env)) return { boot: 'bash', options: rest };
  return none;
}

type Parted = { fixed: SandboxMount[]; fills: Map<string, Fill[]> };

/**
 * Small read-only binds, texts and the socket come with the run; everything else is made with the spare and is part of its
 * key.
 */
function partMounts({ mounts, network }: RunSpec): Parted | null {
  const fixed: SandboxMount[] = [];
  const fills = new Map<string, Fill[]>();
  const filled: string[] = [];
  /** False: no slot can stand there. */
  const add = (at: string, fillOf: (rest: string) => Fill | null): boolean => {
    const [, top = '', ...rest] = at.split('/');
    const fill = TAKEN.has(top) ? null : fillOf(rest.join('/'));
    if (fill === null) return false;
    fills.set(`/${top}`, [...(fills.get(`/${top}`) ?? []), fill]);
    filled.push(at);
    return true;
  };
  for (const mount of mounts) {
    if (mount.kind === 'bind' && (mount.writable || mount.protect !== null)) return null; // somebody's workspace
    if (mount.kind === 'bind' && realpathSync.native(mount.source) !== mount.source) return null; // refused there
    const entries = mount.kind === 'bind' && mount.exec ? surveySource(mount.source) : null;
    if (mount.kind === 'out' || mount.kind === 'tmpfs' || (mount.kind === 'bind' && entries === null)) {
      fixed.push(mount);
      continue;
    }
    const isAdded = add(mount.at, at => {
      if (at === '' && (mount.kind === 'text' || entries?.[0]?.kind !== 'directory')) return null;
      if (mount.kind === 'text') return { kind: 'text', at, text: mount.text };
      return { kind: 'tree', at, source: mount.source, entries: entries ?? [] };
    });
    if (!isAdded) return null;
  }
  if (network.kind === 'egress') {
    const { at: place, socket } = network;
    if (realpathSync.native(socket) !== socket) return null; // refused there
    if (!add(place, at => (at === '' ? null : { kind: 'socket', at, source: socket }))) return null;
  }
  // One inside another: mounts would hide what lies beneath, copies would mix with it.
  const under = (path: string, above: string) => path === above || path.startsWith(`${above}/`);
  for (const [index, at] of filled.entries()) {
    if (filled.some((other, place) => place !== index && under(at, other))) return null;
    if (fixed.some(mount => under(at, mount.at) || (under(mount.at, at) && mount.at !== at))) return null;
  }
  return { fixed, fills };
}

/** Where other mounts will stand in a slot. */
function placesIn(at: string, fixed: readonly SandboxMount[]): Place[] {
  return fixed
    .filter(mount => mount.at.startsWith(`${at}/`))
    .map(mount => ({
      path: mount.at.slice(at.length + 1),
      kind: mount.kind === 'bind' && statSync(mount.source).isFile() ? 'file' : 'directory',
    }));
}

/** A path may come to mean another file; a spare holds the one it meant. */
function identity(source: string): string {
  const { dev, ino } = statSync(source);
  return `${dev}:${ino}`;
}

function pick(env: Readonly<Record<string, string>>, wanted: (name: string) => boolean): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => wanted(name)));
}
