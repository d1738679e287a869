import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf, SkillboxError, syncDirectory, syncFile } from '../base/index.ts';
import { parseKey, readKeyFile, writeKeyFile } from './key-file.ts';
import { type Keyring, openKeyring } from './keyring.ts';
import { KEY_BYTES, keyIdOf } from './seal.ts';

/** What the operator made: Skillbox only reads it. */
export type GivenKey = { kind: 'file'; path: string } | { kind: 'text'; text: string; from: string };

/** `own`: a file of ours. That and a key in the keyring of the operating system are made at first use. */
export type KeySource = { kind: 'own'; path: string } | { kind: 'keyring' } | GivenKey;

/** Where a re-keying puts the new key. */
export type NewKey = Exclude<KeySource, { kind: 'text' }>;

/** The master key for a moment: whoever opens it closes it, and then its bytes are gone. */
export type MasterKey = {
  id: string;
  bytes: Buffer;
  /** Made just now where keys have their own names: unless a row comes under it, nobody will ever ask for it. */
  isNew: boolean;
  close(): void;
};

/**
 * The master key that the store's rows are under; `wanted` is its id, null while there is no secret. Only then a key may be
 * made: a new one in place of a lost one would only hide that everything is lost.
 */
export async function openMasterKey(source: KeySource, wanted: string | null): Promise<MasterKey> {
  const key = await open(source, wanted);
  if (wanted === null || key.id === wanted) return key;
  key.close();
  throw new SkillboxError('VAULT_LOCKED', `the secrets are under another master key than ${describe(source)}`, {
    hint: 'Use the key that they were stored with; after `skillbox secret rekey`, the new one. Without it they cannot be read by anyone.',
    details: { wanted, found: key.id },
  });
}

function open(source: KeySource, wanted: string | null): MasterKey | Promise<MasterKey> {
  if (source.kind === 'keyring') return wanted === null ? makeInKeyring(openKeyring()) : readKeyring(wanted);
  return source.kind === 'own' ? hold(openOwn(source.path, wanted)) : openGivenKey(source);
}

function hold(bytes: Buffer, isNew = false): MasterKey {
  return { id: keyIdOf(bytes), bytes, isNew, close: () => void bytes.fill(0) };
}

const KEY_FORM = 'A key is 32 random bytes in hex or base64, as `openssl rand -base64 32` makes them.';

export function openGivenKey(source: GivenKey): MasterKey {
  const key = source.kind === 'text' ? parseKey(source.text) : readKeyFile(source.path, true);
  if (key !== null) return hold(key);
  const fault = source.kind === 'text' ? `${source.from} holds no key` : `the master key ${source.path} is not there`;
  throw new SkillboxError('VAULT_LOCKED', fault, {
    hint:
      source.kind === 'text'
        ? KEY_FORM
        : `${KEY_FORM} Only its owner may read the file: (umask 077; openssl rand -base64 32 > FILE).`,
  });
}

async function readKeyring(wanted: string): Promise<MasterKey> {
  const bytes = await openKeyring().read(wanted);
  if (bytes !== null) return hold(bytes);
  throw new SkillboxError(
    'VAULT_LOCKED',
    'the keyring of this system does not hold the key that the secrets are under',
    {
      hint: 'Where they were stored without it, say secrets.keyring: no and run `skillbox secret rekey --to keyring`. If the key is lost, nobody can read them: remove all of them, then set them anew.',
      details: { wanted },
    },
  );
}

/** A key is used only when the keyring has given it back: one that forgets would take the secrets with it. */
async function makeInKeyring(keyring: Keyring): Promise<MasterKey> {
  const key = hold(randomBytes(KEY_BYTES), true);
  await keyring.write(key.id, key.bytes);
  const kept = await keyring.read(key.id);
  const isSame = kept?.equals(key.bytes) ?? false;
  kept?.fill(0);
  if (isSame) return key;
  key.close();
  throw new SkillboxError('VAULT_LOCKED', 'the keyring of this system does not keep what it is given', {
    hint: 'Use a key file: say secrets.keyring: no.',
  });
}

/** Takes a key back out of the keyring that no row was ever under. */
export async function forgetKey(source: KeySource, id: string): Promise<void> {
  if (source.kind === 'keyring') await openKeyring().remove(id);
}

function openOwn(path: string, wanted: string | null): Buffer {
  if (wanted !== null) finishRekey(path, wanted);
  const there = readKeyFile(path, false);
  if (there !== null) return there;
  if (wanted !== null) {
    throw new SkillboxError('VAULT_LOCKED', `the master key ${path} is gone`, {
      hint: 'Where the key is your own or in the keyring, say so again: SKILLBOX_MASTER_KEY_FILE, SKILLBOX_MASTER_KEY or SKILLBOX_SECRETS_KEYRING=yes. Otherwise bring the file back. Without the key nobody can read the secrets: remove all of them, then set them anew.',
    });
  }
  const made = randomBytes(KEY_BYTES);
  if (writeKeyFile(path, made)) return made;
  made.fill(0);
  // Another process was faster; theirs is the key.
  return readKeyFile(path, false) ?? openOwn(path, wanted);
}

/** A key that is about to take the place of another. Until the rows are under it, it waits where it hides no other. */
export type NextKey = MasterKey & {
  /** The rows are under it. */
  take(): void;
  /** The rows stayed under the old one. */
  giveUp(): Promise<void>;
};

export async function prepareKey(to: NewKey): Promise<NextKey> {
  if (to.kind === 'keyring') {
    const key = await makeInKeyring(openKeyring());
    return { ...key, take: () => undefined, giveUp: () => forgetKey(to, key.id) };
  }
  const { path } = to;
  if (to.kind === 'file') return { ...openKeyFile(path), take: () => undefined, giveUp: async () => undefined };
  const key = prepareOwn(path);
  return { ...key, take: () => finishRekey(path, key.id), giveUp: async () => giveUpRekey(path, key.id) };
}

/** It waits beside our own under its own name. */
function prepareOwn(path: string): MasterKey {
  const key = hold(randomBytes(KEY_BYTES));
  if (!writeKeyFile(nextPath(path, key.id), key.bytes)) throw new SkillboxError('INTERNAL', 'two keys have one id');
  return key;
}

/**
 * The rows are under the key that waits: it takes its place. Called after the rows were changed, and by whoever finds that
 * the process that changed them died before it could. The name holds the id, so that a slow process never puts an older key
 * over a newer one: once moved, its file is not there any more.
 */
function finishRekey(path: string, id: string): void {
  const next = nextPath(path, id);
  if (!existsSync(next)) return;
  try {
    renameSync(next, path);
    syncDirectory(dirname(path));
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error; // somebody else was faster
  }
}

/** The rows stayed under the old key: the one that waited was never used. */
function giveUpRekey(path: string, id: string): void {
  rmSync(nextPath(path, id), { force: true });
}

/**
 * The rows are under a key that is elsewhere. Threat: the old one, left beside the store, still opens every older copy of it. Only
 * the key that was left goes: the file may hold another by now.
 */
export function leaveOwn(source: KeySource, id: string): void {
  if (source.kind !== 'own') return;
  const there = readKeyFile(source.path, false);
  if (there === null) return;
  const isLeft = keyIdOf(there) === id;
  there.fill(0);
  if (!isLeft) return;
  rmSync(source.path, { force: true });
  syncDirectory(dirname(source.path));
}

function nextPath(path: string, id: string): string {
  return `${path}.${id}.next`;
}

/** The operator's key in a file, which is made when it is not there. */
function openKeyFile(path: string): MasterKey {
  const there = readKeyFile(path, true);
  if (there !== null) {
    settleGiven(path);
    return hold(there);
  }
  const made = randomBytes(KEY_BYTES);
  if (writeKeyFile(path, made)) return hold(made);
  made.fill(0);
  return openKeyFile(path);
}

/** Threat: it was made a moment ago, the old key goes, the power is cut, and the file is empty: nobody can read the secrets any more. */
function settleGiven(path: string): void {
  const real = realpathSync(path);
  syncFile(real);
  try {
    syncDirectory(dirname(real));
  } catch (error) {
    if (errnoOf(error) !== 'EACCES') throw error; // a directory that we may pass through and not read
  }
}

function describe(source: KeySource): string {
  if (source.kind === 'keyring') return 'what the keyring of this system holds under its name';
  return source.kind === 'text' ? source.from : source.path;
}
