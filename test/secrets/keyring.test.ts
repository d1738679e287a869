import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openKeyring } from '../../src/secrets/keyring.ts';
import { noKeyring, type Session, startSession } from '../support/secret-service.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const PROGRAM = join(import.meta.dirname, '../../src/cli/skillbox.ts');
const CHILD = join(import.meta.dirname, '../support/vault-child.ts');
const VALUE = 'a value for the keyring test';
const LIMIT = { timeout: 60_000 };

type Ended = { code: number | null; signal: string | null; out: string; err: string };

/** The bus is found by the environment of the process, so each step is a process. */
async function start(session: Session | null, args: readonly string[], more: object, stdin = ''): Promise<Ended> {
  const env = { PATH: process.env.PATH, HOME: tempDir('home'), NO_COLOR: '1', ...session?.env, ...more };
  const child = spawn(process.execPath, args, { env, cwd: env.HOME, stdio: 'pipe' });
  const [out, err]: Buffer[][] = [[], []];
  child.stdout.on('data', chunk => out?.push(chunk));
  child.stderr.on('data', chunk => err?.push(chunk));
  child.stdin.end(stdin);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { code, signal, out: Buffer.concat(out ?? []).toString(), err: Buffer.concat(err ?? []).toString() };
}

/** A machine with a data directory: commands on it, with and without the keyring. */
function machineOf(session: Session | null) {
  const directory = tempDir('keyring');
  const box = (keyring: 'yes' | 'no', args: readonly string[], stdin?: string) => {
    const env = { SKILLBOX_DATA_DIR: directory, SKILLBOX_SECRETS_KEYRING: keyring };
    return start(session, [PROGRAM, ...args], env, stdin);
  };
  return {
    directory,
    box,
    set: (keyring: 'yes' | 'no') => box(keyring, ['secret', 'set', 'anthropic'], VALUE),
    /** Whether the value can be had: nothing says yes that has not opened it. */
    opens: async (keyring: 'yes' | 'no') => (await box(keyring, ['provider', 'test', 'anthropic'])).code === 0,
    rekeyAndDie: (what: string, from: string, to: string) => start(session, [CHILD, directory, what, '', from, to], {}),
    rekey: (keyring: 'yes' | 'no', to: string) => box(keyring, ['secret', 'rekey', '--to', to]),
  };
}

describe.skipIf(noKeyring !== null)('a master key in the keyring of the system', () => {
  test('is made with the first secret, is in no file, and opens it in another process', LIMIT, async () => {
    const session = await startSession();
    await session.startKeyring('right');
    const { directory, set, opens, box } = machineOf(session);
    expect(await set('yes')).toMatchObject({ code: 0 });
    expect(await opens('yes')).toBe(true);
    expect(readdirSync(directory)).not.toContain('master.key');
    // The setting says where to look, and nowhere else is looked.
    const without = await box('no', ['provider', 'test', 'anthropic']);
    expect(without.code).not.toBe(0);
    expect(`${without.out}${without.err}`).toContain('master.key is gone');
    expect(existsSync(join(directory, 'master.key'))).toBe(false);
  });

  test('outlives the keyring service, and waits for the right password', LIMIT, async () => {
    const session = await startSession();
    const end = await session.startKeyring('right');
    const { set, opens, box, directory } = machineOf(session);
    await set('yes');
    await end();
    const endLocked = await session.startKeyring(null);
    for (const args of [
      ['provider', 'test', 'anthropic'],
      ['secret', 'rekey'],
    ]) {
      const locked = await box('yes', args);
      expect(locked.code).not.toBe(0);
      expect(`${locked.out}${locked.err}`).toContain('the keyring of this system does not give the master key');
    }
    expect(readdirSync(directory)).not.toContain('master.key');
    await endLocked();
    await session.startKeyring('right');
    expect(await opens('yes')).toBe(true);
  });

  test('moves from a file to the keyring, within it, and back', LIMIT, async () => {
    const session = await startSession();
    await session.startKeyring('right');
    const { directory, set, opens, rekey, box } = machineOf(session);
    await set('no');
    const first = readFileSync(join(directory, 'master.key'), 'utf8');
    const moved = await rekey('no', 'keyring');
    expect(moved).toMatchObject({ code: 0, err: expect.stringContaining('secrets.keyring: yes') });
    expect([await opens('yes'), await opens('no')]).toEqual([true, false]);
    expect(readdirSync(directory)).not.toContain('master.key');
    expect(await box('yes', ['secret', 'rekey'])).toMatchObject({ code: 0 });
    expect(await opens('yes')).toBe(true);
    expect(await rekey('yes', 'own')).toMatchObject({ code: 0 });
    expect([await opens('yes'), await opens('no')]).toEqual([false, true]);
    expect(readFileSync(join(directory, 'master.key'), 'utf8')).not.toBe(first);
    expect(readdirSync(directory).filter(name => name.includes('.next'))).toEqual([]);
  });

  test.each([
    ['own', 'keyring'],
    ['keyring', 'own'],
    ['keyring', 'keyring'],
  ])('killed while it moves from %s to %s: under the one or under the other', LIMIT, async (from, to) => {
    const session = await startSession();
    await session.startKeyring('right');
    const [before, after] = [from, to].map(place => (place === 'keyring' ? 'yes' : 'no')) as [
      'yes' | 'no',
      'yes' | 'no',
    ];
    const { set, box, opens, rekeyAndDie } = machineOf(session);
    await set(before);
    await box(before, ['secret', 'set', 'openai'], VALUE);
    expect((await rekeyAndDie('die-in', from, to)).signal).toBe('SIGKILL');
    expect(await opens(before)).toBe(true);
    expect((await rekeyAndDie('die-after', from, to)).signal).toBe('SIGKILL');
    expect(await opens(after)).toBe(true);
    if (before !== after) expect(await opens(before)).toBe(false);
  });

  test('that several processes make at once is one key, and no other is left', LIMIT, async () => {
    const session = await startSession();
    await session.startKeyring('right');
    const { directory } = machineOf(session);
    // Once each: it is the first key that matters, and gnome-keyring ends itself when it is asked by many for long.
    const runs = ['a', 'b', 'c'].map(name => start(session, [CHILD, directory, 'set', name, 'keyring'], {}));
    const faults = (await Promise.all(runs)).map(({ code, err }) => (code === 0 ? '' : err));
    expect(faults).toEqual(['', '', '']);
    const list = `import { findCredentials } from '@napi-rs/keyring'; console.log(findCredentials('skillbox').length)`;
    const script = [
      '--input-type=module',
      '--eval',
      list.replace('@napi-rs/keyring', import.meta.resolve('@napi-rs/keyring')),
    ];
    expect(await start(session, script, {})).toMatchObject({ code: 0, out: '1\n' });
  });

  test('a bus without a keyring: nothing is stored', LIMIT, async () => {
    const { directory, set } = machineOf(await startSession());
    expect(await set('yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('the keyring of this system cannot be reached'),
    });
    expect(readdirSync(directory)).not.toContain('master.key');
  });
});

describe('where there is no keyring', () => {
  test('no session: nothing is stored, in a file least of all', LIMIT, async () => {
    const { directory, set } = machineOf(null);
    const { code, err } = await set('yes');
    expect(code).not.toBe(0);
    expect(err).toMatch(/the (library for the )?keyring of this system (cannot be reached|is not installed)/);
    expect(readdirSync(directory)).not.toContain('master.key');
  });

  test('no library', async () => {
    const keyring = openKeyring(() => Promise.reject(new Error('Cannot find module')));
    const fault = { code: 'CONFIG_INVALID', message: expect.stringContaining('is not installed') };
    await expect(keyring.read('id')).rejects.toMatchObject(fault);
    await expect(keyring.write('id', Buffer.alloc(32))).rejects.toMatchObject(fault);
  });

  test('an entry that is no key is no key', async () => {
    class AsyncEntry {
      getSecret = async () => [...Buffer.from('not a key')];
    }
    const keyring = openKeyring(async () => ({ AsyncEntry }) as never);
    await expect(keyring.read('id')).rejects.toMatchObject({ code: 'VAULT_LOCKED' });
  });
});
