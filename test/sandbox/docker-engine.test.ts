import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { buildHelper } from '../../scripts/build-helper.mjs';
import { hintFor, runtimeProblem } from '../../src/sandbox/docker-engine.ts';
import { createDocker, DEFAULT_UIDS } from '../../src/sandbox/index.ts';
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
