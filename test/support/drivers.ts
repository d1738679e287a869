import { chownSync, existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buildHelper } from '../../scripts/build-helper.mjs';
import {
  type BubblewrapOptions,
  createBubblewrap,
  createDocker,
  DEFAULT_UIDS,
  type Sandbox,
  type WarmOptions,
  warmOptions,
} from '../../src/sandbox/index.ts';
import { startRemote } from './remote-sandbox.ts';
import { skipUnless } from './require.ts';
import { tempDir } from './temp.ts';
import { alwaysWarm } from './warmed.ts';

export type Subject = {
  sandbox: Sandbox;
  stateDir: string;
  /** A socket for its runs is to be this user's, as it is in use: the user whose sandbox it is. */
  give(socket: string): void;
  /** What the process in which the sandbox is driven has in memory. */
  residentBytes(): number;
  close(): Promise<void>;
};
export type Driver = {
  name: string;
  skip: string | null;
  /** Interpreters are the host's: looked up before the run, named with their version. */
  hostRuntime: boolean;
  make(): Promise<Subject>;
};

export const NOBODY = 65534;
const isRoot = process.getuid?.() === 0;
export function optionsFor(stateDir: string): BubblewrapOptions {
  return {
    stateDir,
    uids: { ...DEFAULT_UIDS, locks: join(stateDir, 'uids') },
    search: [join(import.meta.dirname, '../../node_modules/.bin')],
    cgroups: true,
    spares: 0,
    warm: warmOptions(0),
    bwrap: null,
    helper: null,
  };
}

export function makeStateDir(uid: number): string {
  const stateDir = tempDir('sandbox');
  if (isRoot) chownSync(stateDir, uid, uid);
  return stateDir;
}

const noBwrap = skipUnless(existsSync('/usr/bin/bwrap'), 'bubblewrap', 'bubblewrap is not installed');

/** bubblewrap as whoever runs the tests, without cgroups, and as an ordinary user in a process of its own. */
export const BUBBLEWRAPS: Driver[] = [
  {
    name: isRoot ? 'bubblewrap as root' : 'bubblewrap',
    skip: noBwrap,
    hostRuntime: true,
    make: () => local({ cgroups: true }),
  },
  {
    name: isRoot ? 'bubblewrap as root with a spare' : 'bubblewrap with a spare',
    skip: noBwrap,
    hostRuntime: true,
    make: () => local({ spares: 1 }),
  },
  {
    name: isRoot ? 'bubblewrap as root without cgroups' : 'bubblewrap without cgroups',
    skip: noBwrap,
    hostRuntime: true,
    make: () => local({ cgroups: false }),
  },
  {
    name: 'bubblewrap as an ordinary user',
    skip: noBwrap ?? skipUnless(isRoot, 'bubblewrap', 'only root can start a process of another user'),
    hostRuntime: true,
    make: () => remote(NOBODY, {}),
  },
  {
    name: isRoot ? 'bubblewrap warm as root' : 'bubblewrap warm',
    skip: noBwrap,
    hostRuntime: true,
    make: () => local({ warm: WARM }),
  },
  {
    name: 'bubblewrap warm without cgroups',
    skip: noBwrap,
    hostRuntime: true,
    make: () => local({ warm: WARM, cgroups: false }),
  },
  {
    name: 'bubblewrap warm as an ordinary user',
    skip: noBwrap ?? skipUnless(isRoot, 'bubblewrap', 'only root can start a process of another user'),
    hostRuntime: true,
    make: () => remote(NOBODY, { warm: WARM }),
  },
];

/** Never refilled by itself: each run's spare is made for it, so that every run has one and none is left over. */
export const WARM: WarmOptions = { inAll: 8, perKey: 1, idleMs: 3_600_000, keepMs: 3_600_000, cleanLater: false };

async function local(changes: Partial<BubblewrapOptions>): Promise<Subject> {
  buildHelper();
  const stateDir = makeStateDir(process.getuid?.() ?? 0);
  const options = { ...optionsFor(stateDir), ...changes };
  const sandbox = createBubblewrap(options);
  await sandbox.check();
  return {
    sandbox: options.warm.inAll > 0 ? alwaysWarm(sandbox) : sandbox,
    stateDir,
    give: () => undefined,
    residentBytes: () => process.memoryUsage().rss,
    close: async () => {
      await sandbox.close();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

async function remote(uid: number, changes: Partial<BubblewrapOptions>): Promise<Subject> {
  buildHelper();
  const stateDir = makeStateDir(uid);
  const remoteSandbox = await startRemote({ ...optionsFor(stateDir), ...changes }, uid);
  const { sandbox } = remoteSandbox;
  await sandbox.check();
  return {
    sandbox,
    stateDir,
    give: socket => chownSync(socket, uid, uid),
    residentBytes: () => residentOf(remoteSandbox.child.pid),
    async close() {
      await remoteSandbox.close();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

function residentOf(pid = 0): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

export const DOCKER_SOCKET = process.env.SKILLBOX_DOCKER_SOCKET ?? '/var/run/docker.sock';
export const PODMAN_SOCKET = process.env.SKILLBOX_TEST_PODMAN ?? '/nowhere/podman.sock';

/** A driver on an engine with the image of the tests, with bash and python3 in it. */
export function engineDriver(name: string, socket: string, runtime: string | null, skip: string | null): Driver {
  return {
    name,
    skip,
    hostRuntime: false,
    async make() {
      buildHelper();
      const stateDir = makeStateDir(process.getuid?.() ?? 0);
      const sandbox = createDocker({
        socket,
        stateDir,
        uids: { ...DEFAULT_UIDS, locks: join(stateDir, 'uids') },
        defaultImage: process.env.SKILLBOX_DOCKER_IMAGE ?? 'skillbox-test',
        runtime,
        helper: null,
      });
      await sandbox.check();
      return {
        sandbox,
        stateDir,
        give: () => undefined,
        residentBytes: () => process.memoryUsage().rss,
        close: () => rm(stateDir, { recursive: true, force: true }),
      };
    },
  };
}

/** Needs an engine and an image with bash and python3: SKILLBOX_DOCKER_SOCKET, SKILLBOX_DOCKER_IMAGE. */
export const DOCKER: Driver = engineDriver(
  'docker',
  DOCKER_SOCKET,
  null,
  skipUnless(existsSync(DOCKER_SOCKET), 'docker', `there is no engine at ${DOCKER_SOCKET}`),
);

/** The same driver on the other engine: SKILLBOX_TEST_PODMAN is its socket. */
export const PODMAN: Driver = engineDriver(
  'docker on podman',
  PODMAN_SOCKET,
  null,
  skipUnless(existsSync(PODMAN_SOCKET), 'podman', 'SKILLBOX_TEST_PODMAN names no engine'),
);

export const ENGINES: Driver[] = [DOCKER, PODMAN];
