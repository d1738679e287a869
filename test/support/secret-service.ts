import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { skipUnless } from './require.ts';
import { tempDir } from './temp.ts';

const PROGRAMS = ['dbus-daemon', 'gnome-keyring-daemon'];
const START_MS = 10_000;

/** Why the tests with a real keyring are skipped here; null when there can be one. */
export const noKeyring = skipUnless(
  process.platform === 'linux' && PROGRAMS.every(name => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0),
  'keyring',
  `no Secret Service can be started: ${PROGRAMS.join(' or ')} is not installed`,
);

/** A session bus of its own, with nothing on it that starts by itself: no keyring but ours, and nobody who would ask. */
const BUS_CONFIG = (socket: string) => `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=${socket}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>`;

export type Session = {
  /** For processes of this session. */
  env: Record<string, string>;
  /** A keyring on its bus, made with the password if there is none. `password` null: it is not unlocked. The keys stay from one to the next. */
  startKeyring(password: string | null): Promise<() => Promise<void>>;
};

/** A login session with a bus; what was started ends with the test. */
export async function startSession(): Promise<Session> {
  const home = tempDir('session');
  const socket = join(home, 'bus');
  const config = join(home, 'bus.conf');
  const runtime = join(home, 'run');
  mkdirSync(runtime, { mode: 0o700 });
  writeFileSync(config, BUS_CONFIG(socket));
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    XDG_RUNTIME_DIR: runtime,
    XDG_DATA_HOME: join(home, 'share'),
    DBUS_SESSION_BUS_ADDRESS: `unix:path=${socket}`,
  };
  const bus = spawn('dbus-daemon', ['--nofork', '--nosyslog', `--config-file=${config}`], { env, stdio: 'ignore' });
  onTestFinished(() => stop(bus));
  await until('a session bus', () => existsSync(socket));
  return {
    env,
    async startKeyring(password) {
      const args = ['--foreground', '--components=secrets', ...(password === null ? [] : ['--unlock'])];
      const keyring = spawn('gnome-keyring-daemon', args, { env, stdio: ['pipe', 'ignore', 'ignore'] });
      keyring.stdin.end(password ?? '');
      onTestFinished(() => stop(keyring));
      await until('a keyring', () => ask(env, 'GetNameOwner', 'string:org.freedesktop.secrets'));
      // It has its name before it has opened anything.
      if (password !== null) await until('an open keyring', () => isOpen(env));
      return () => stop(keyring);
    },
  };
}

function ask(env: Record<string, string>, method: string, argument: string): boolean {
  const to = ['--session', '--dest=org.freedesktop.DBus', '--print-reply', '/org/freedesktop/DBus'];
  const { status } = spawnSync('dbus-send', [...to, `org.freedesktop.DBus.${method}`, argument], { env });
  return status === 0;
}

function isOpen(env: Record<string, string>): boolean {
  const to = ['--session', '--dest=org.freedesktop.secrets', '--print-reply=literal'];
  const what = ['org.freedesktop.DBus.Properties.Get', 'string:org.freedesktop.Secret.Collection', 'string:Locked'];
  const { stdout } = spawnSync('dbus-send', [...to, '/org/freedesktop/secrets/collection/login', ...what], { env });
  return stdout.includes('boolean false');
}

async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = Date.now() + START_MS;
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`${what} did not start`);
    await sleep(20);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'close');
}
