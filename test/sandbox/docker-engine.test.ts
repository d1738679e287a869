import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { buildHelper } from '../../scripts/build-helper.mjs';
import { hintFor, runtimeProblem } from '../../src/sandbox/docker-engine.ts';
import { createDocker, DEFAULT_UIDS, run } from '../../src/sandbox/index.ts';
import { QUIET, specOf } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
let server: Server | null = null;
beforeAll(() => void buildHelper());
afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

/** An engine that answers what it is told to, by path and without the version; everything else is not there. */
async function engineThat(answers: Record<string, readonly [status: number, body: object]>) {
  const stateDir = tempDir('docker');
  const socket = join(stateDir, 'engine.sock');
  server = createServer((incoming, outgoing) => {
    const path = (incoming.url ?? '').replace(/^\/v[0-9.]+/, '').replace(/\?.*/, '');
    const [status, body] = answers[`${incoming.method} ${path}`] ?? [404, { message: 'no such thing' }];
    outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>(resolve => server?.listen(socket, resolve));
  const uids = { ...DEFAULT_UIDS, locks: join(stateDir, 'uids') };
  return createDocker({ socket, stateDir, uids, defaultImage: 'base', runtime: null, helper: null });
}

/** What a container prints, by the words of its program. */
type Prints = (argv: readonly string[]) => { stdout: string; stderr: string; code: number };

/** One whose containers begin when they have been told what to do, print, and end: as our PID 1 does inside. */
async function engineWith(prints: Prints) {
  const sandbox = await engineThat({
    ...OPEN,
    'GET /version': [200, { Version: '27' }],
    'GET /info': [200, { CpuCfsQuota: true, MemoryLimit: true, PidsLimit: true }],
    'POST /containers/create': [201, { Id: 'c' }],
    'POST /containers/c/start': [200, {}],
    'POST /containers/c/wait': [200, { StatusCode: 0 }],
    'GET /containers/c/json': [200, { State: { OOMKilled: false } }],
    'DELETE /containers/c': [200, {}],
  });
  let output: Duplex | null = null;
  server?.on('upgrade', ({ url }: { url: string }, socket: Duplex) => {
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
    if (!url.includes('stdin=1')) {
      output = socket;
      return;
    }
    let told = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      told = Buffer.concat([told, chunk]);
      if (told.length < 4 || told.length < 4 + told.readUInt32LE()) return;
      const words = wordsOf(told.subarray(4));
      const argv = words.flatMap((word, at) => (word === 'arg' ? [words[at + 1] ?? ''] : []));
      const { stdout, stderr, code } = prints(argv);
      const said = `${stderr}\0${words[words.indexOf('nonce') + 1]}\nstarted\nexited ${code}\n`;
      output?.end(Buffer.concat([multiplexed(1, stdout), multiplexed(2, said)]));
      told = Buffer.alloc(0);
    });
  });
  return sandbox;
}

/** The tokens of one frame. */
function wordsOf(body: Buffer): string[] {
  const words: string[] = [];
  for (let at = 0; at < body.length; ) {
    const length = body.readUInt32LE(at);
    words.push(body.toString('utf8', at + 4, at + 4 + length));
    at += 4 + length + 1;
  }
  return words;
}

function multiplexed(stream: number, text: string): Buffer {
  const head = Buffer.alloc(8);
  head[0] = stream;
  head.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
}

const HOLDS = [
  'CapInh: 0',
  'CapPrm: 0',
  'CapEff: 0',
  'CapBnd: 0',
  'CapAmb: 0',
  'root: 1',
  'sysctl: 1',
  'interfaces: 1',
  'processes: 2',
  'Seccomp: 2',
  'netlink: 1',
  'NoNewPrivs: 1',
  'unshare: 1',
  'pid1: 1',
  'noexec: 1',
].join('\n');

describe('a program that the image of the engine does not have', () => {
  const none = (name: string) => `skillbox: cannot start ${name}: No such file or directory\n`;
  const engine = (stdout: string, stderr: string) =>
    engineWith(argv =>
      argv.includes('probe') ? { stdout: HOLDS, stderr: '', code: 0 } : { stdout, stderr, code: 127 },
    );

  it('is told with the image, and what to do', async () => {
    const sandbox = await engine('', none('node'));
    await expect(run(sandbox, specOf(['node', '/x.js'], { mounts: [] }), QUIET)).rejects.toMatchObject({
      code: 'RUNTIME_MISSING',
      message: 'The image base has no node where programs usually are.',
      hint: expect.stringContaining('SKILLBOX_DOCKER_IMAGE'),
    });
  });

  it.each([
    ['one that was there and printed something', ['node'], 'x', none('node')],
    ['one that said more', ['node'], '', `${none('node')}more\n`],
    ['a file that is not there', ['/x/node'], '', none('/x/node')],
    ['another program', ['bash'], '', none('node')],
  ])('%s is no such thing', async (_, argv, stdout, stderr) => {
    const sandbox = await engine(stdout, stderr);
    expect((await run(sandbox, specOf(argv, { mounts: [] }), QUIET)).end).toEqual({ kind: 'exited', code: 127 });
  });
});

const PODMAN = { Version: '5.0', Components: [{ Name: 'Podman Engine' }] };
const OPEN = { 'GET /_ping': [200, {}], 'GET /images/base/json': [200, { Id: 'sha256:1' }] } as const;

describe('what an engine says of itself', () => {
  it.each([
    ['Podman', PODMAN, { Rootless: true }, '/run/podman/podman.sock'],
    ['Docker', { Version: '27' }, { SecurityOptions: ['name=seccomp', 'name=rootless'] }, '/var/run/docker.sock'],
  ])('%s without root is refused, with what to use instead', async (name, version, info, socket) => {
    const sandbox = await engineThat({ ...OPEN, 'GET /version': [200, version], 'GET /info': [200, info] });
    expect(await sandbox.check()).toEqual([
      {
        what: expect.stringMatching(new RegExp(`^${name} [0-9.]+ is rootless`)),
        fix: expect.stringContaining(socket),
        fatal: true,
      },
    ]);
  });

  it('what keeps a probe from starting is told in the words of the engine, with the way out where it is known', async () => {
    const why = 'crun: cgroups in hybrid mode not supported, drop all controllers from cgroupv2';
    const sandbox = await engineThat({
      ...OPEN,
      'GET /version': [200, PODMAN],
      'GET /info': [200, {}],
      'POST /containers/create': [201, { Id: 'c' }],
      'POST /containers/c/attach': [409, { message: `preparing container c for attach: ${why}` }],
      'DELETE /containers/c': [204, {}],
    });
    expect(await sandbox.check()).toEqual([
      {
        what: expect.stringMatching(/^Podman 5\.0 did not start a probe: .*hybrid mode/),
        fix: expect.stringContaining('runtime = "runc"'),
        fatal: true,
      },
    ]);
  });

  it('the image that stands in for the host is named by its content, or the engine is at fault', async () => {
    const sandbox = await engineThat(OPEN);
    expect(await sandbox.standIn()).toEqual({ name: 'base', digest: 'sha256:1' });
    server?.close();
    server?.closeAllConnections();
    await expect((await engineThat({})).standIn()).rejects.toMatchObject({ code: 'SANDBOX_FAILED' });
  });

  it('only what is known has a hint', () => {
    expect(hintFor('crun: setrlimit `RLIMIT_NOFILE`: Operation not permitted')).toContain('default_ulimits');
    expect(hintFor('no space left on device')).toBe(null);
  });

  it('a runtime counts only where runs would get it', () => {
    const limits = { cpu: true, memory: true, pids: true };
    const docker = { kind: 'docker', version: '1', rootless: false, runtimes: ['runc', 'runsc'], limits } as const;
    const podman = { ...docker, kind: 'podman', defaultRuntime: 'crun' } as const;
    expect(runtimeProblem(null, podman)).toBe(null);
    expect(runtimeProblem('runsc', { ...docker, defaultRuntime: 'runc' })).toBe(null);
    expect(runtimeProblem('kata', { ...docker, defaultRuntime: 'runc' })?.what).toBe(
      'the engine has no runtime kata, only runc, runsc',
    );
    // Podman lists it, and would ignore it.
    expect(runtimeProblem('runsc', podman)?.what).toBe('Podman runs everything with crun, not with runsc');
    expect(runtimeProblem('crun', podman)).toBe(null);
  });
});
