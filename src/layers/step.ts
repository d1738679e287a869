import { SkillboxError, visibleLine } from '../base/index.ts';
import { type Egress, hostCertificates } from '../egress/index.ts';
import {
  EGRESS_PORT,
  type End,
  type Handle,
  type Limits,
  type Requires,
  type RuntimeSpec,
  type Sandbox,
  type SandboxMount,
} from '../sandbox/index.ts';
import type { PackageIndex } from './index-settings.ts';
import type { Inside } from './inside.ts';
import type { Manager } from './manifest.ts';
import type { Programs } from './tools.ts';

/** What a build works with. */
export type Workshop = {
  sandbox: Sandbox;
  runtime: RuntimeSpec;
  path: string;
  programs: Programs;
  /** What the steps are started with: the run's own. */
  interpreter: string;
  limits: Limits;
  requires: Requires;
  /** What an image has to build with; null on the host's own programs. Asked when first needed. */
  inside: () => Promise<Inside | null>;
  index: () => Promise<PackageIndex>;
  /** The way to the index, opened when first needed. */
  egress: () => Promise<Egress>;
  onLine: (line: string) => void;
  signal: AbortSignal | null;
};

/** One program in a sandbox of its own: it sees what is listed here and nothing of the user's files. */
export type Step = {
  manager: Manager;
  /** For people: `resolve`, `install`. */
  doing: string;
  argv: string[];
  env: Record<string, string>;
  /** Files in /build, by name. */
  files: Record<string, string>;
  binds: readonly { source: string; at: string }[];
  network: boolean;
};

export const OUT = '/layer';
export const PROXY = `http://127.0.0.1:${EGRESS_PORT}`;
const CA_INSIDE = '/build/ca.pem';
const KEPT_LINES = 20;
/** npm says what is wrong first, below its code; advice and usage follow, more than is kept. pip says it last. */
const NPM_CAUSE = /^npm (?:error|ERR!) (?!code |A complete log)\S/;
const OFFLINE_HINT = 'Check the network and the index settings; a layer that was built once works without them.';
const PRIVATE_HINT =
  'Its name leads to this machine or a private network; name the index in SKILLBOX_PIP_INDEX_URL or SKILLBOX_NPM_REGISTRY to allow that.';
const UNLISTED_HINT =
  'A build reaches the index alone. Where the index serves files from there, name it in SKILLBOX_INDEX_HOSTS.';

/** The host's certificates as a step has them; null where there are none. */
export async function certificates(): Promise<{ source: string; at: string } | null> {
  const source = await hostCertificates();
  return source === null ? null : { source, at: CA_INSIDE };
}

/** The finished handle: its `OUT` is the caller's to read and to dispose of. */
export async function runStep(workshop: Workshop, step: Step): Promise<Handle> {
  const { sandbox, runtime, limits, requires, signal } = workshop;
  const egress = step.network ? await workshop.egress() : null;
  const mounts: SandboxMount[] = [
    { kind: 'tmpfs', at: '/tmp', bytes: 64 * 1024 ** 2 },
    { kind: 'tmpfs', at: '/root', bytes: 1024 ** 2 },
    // Unpacking needs room that a tmpfs would take from memory: TMPDIR lies beside the result.
    { kind: 'out', at: OUT, directories: ['tmp'] },
    ...Object.entries(step.files).map(([name, text]) => ({ kind: 'text' as const, at: `/build/${name}`, text })),
    ...step.binds.map(bind => ({ kind: 'bind' as const, ...bind, writable: false, exec: true, protect: null })),
  ];
  const handle = await sandbox.prepare({
    argv: step.argv,
    cwd: OUT,
    env: { PATH: workshop.path, HOME: '/root', LANG: 'C.UTF-8', TMPDIR: `${OUT}/tmp`, ...step.env },
    mounts,
    limits,
    network: egress === null ? { kind: 'none' } : { kind: 'egress', socket: egress.socket, at: '/build/proxy.sock' },
    runtime,
    tenant: null,
    requires,
  });
  try {
    const tail = new Tail(workshop.onLine);
    const { end } = await handle.start({
      stdin: null,
      keepBytes: 256, // for a driver that reads there that the image has no such program
      signal,
      onChunk: (_stream, chunk) => tail.add(chunk),
    });
    if (end.kind !== 'exited' || end.code !== 0) throw failure(step, end, tail, egress, limits);
    return handle;
  } catch (error) {
    await handle.dispose();
    throw error;
  }
}

/** The last lines, in bounded memory. */
class Tail {
  readonly #onLine: (line: string) => void;
  #lines: string[] = [];
  #rest = '';
  /** What npm named as the cause; null where it named none. */
  npmCause: string | null = null;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  add(chunk: Buffer): void {
    const lines = (this.#rest + chunk.toString('utf8')).split(/[\r\n]+/);
    this.#rest = (lines.pop() ?? '').slice(-4096);
    for (const line of lines) this.#take(line);
  }

  lines(): string[] {
    if (this.#rest !== '') this.#take(this.#rest);
    this.#rest = '';
    return this.#lines;
  }

  #take(line: string): void {
    if (line.trim() === '') return;
    const shown = visibleLine(line, 300);
    this.#lines = [...this.#lines.slice(1 - KEPT_LINES), shown];
    if (NPM_CAUSE.test(shown)) this.npmCause ??= shown;
    this.#onLine(shown);
  }
}

/** What stood in the way to the index, and what to do about it: the package manager knows of the proxy only. */
const OBSTACLES: readonly { reason: RegExp; hint: string }[] = [
  { reason: / cannot be (?:reached|resolved)/, hint: OFFLINE_HINT },
  { reason: / has no address/, hint: PRIVATE_HINT },
  { reason: / is not on the list$/, hint: UNLISTED_HINT },
];

function failure(step: Step, end: End, tail: Tail, egress: Egress | null, limits: Limits): SkillboxError {
  const lines = tail.lines();
  const refused = [...new Set((egress?.events ?? []).flatMap(({ reason }) => reason ?? []))];
  const [obstacle] = OBSTACLES.flatMap(({ reason, hint }) => {
    const why = refused.find(text => reason.test(text));
    return why === undefined ? [] : [{ why, hint }];
  });
  const own = step.manager === 'npm' ? tail.npmCause : null;
  const said = own ?? lines.findLast(line => /error/i.test(line)) ?? lines.at(-1) ?? 'nothing';
  const how =
    end.kind === 'exited'
      ? `exit code ${end.code}`
      : end.kind === 'timeout'
        ? `after ${Math.round(limits.timeMs / 1000)} s`
        : end.kind === 'signaled'
          ? end.signal
          : end.kind;
  return new SkillboxError(
    'DEPENDENCIES_FAILED',
    `${step.manager} could not ${step.doing} the dependencies (${how}): ${obstacle?.why ?? said}`,
    {
      ...(obstacle === undefined ? {} : { hint: obstacle.hint }),
      details: { manager: step.manager, step: step.doing, end: { ...end }, lines, refused },
    },
  );
}
