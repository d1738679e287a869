import { SkillboxError } from '../base/index.ts';
import { parseKey } from './key-file.ts';

/** Master keys in the keyring of the operating system, each under its own id. */
export interface Keyring {
  /** null when it holds none of that id. */
  read(id: string): Promise<Buffer | null>;
  write(id: string, key: Buffer): Promise<void>;
  remove(id: string): Promise<void>;
}

type Library = Pick<typeof import('@napi-rs/keyring'), 'AsyncEntry'>;
type Entry = InstanceType<Library['AsyncEntry']>;

const SERVICE = 'skillbox';

/**
 * Named by the key's id and not by a directory: a data directory that is moved or copied finds its key, and two that are not
 * related never take each other's. Loaded at first use: it is a native library, and most machines do without it.
 */
export function openKeyring(load: () => Promise<Library> = () => import('@napi-rs/keyring')): Keyring {
  const entryOf = async (id: string): Promise<Entry> => {
    const { AsyncEntry } = await load().catch((cause: unknown) => {
      throw new SkillboxError('CONFIG_INVALID', 'the library for the keyring of this system is not installed', {
        hint: 'Install @napi-rs/keyring beside Skillbox, or say secrets.keyring: no and keep the key elsewhere.',
        cause,
      });
    });
    // On Linux the Secret Service or nothing: the library would else take the kernel's keyring, which a reboot empties.
    return asking(
      'cannot be reached',
      () => new AsyncEntry(SERVICE, accountOf(id), { linux: { store: 'secret-service' } }),
    );
  };
  return {
    async read(id) {
      const entry = await entryOf(id);
      const found = await asking('does not give the master key', () => entry.getSecret());
      if (found === null) return null;
      const text = Buffer.from(found);
      found.fill(0);
      const key = parseKey(text.toString('latin1'));
      text.fill(0);
      if (key === null) throw locked(`holds no key of 32 bytes under ${SERVICE}, ${accountOf(id)}`);
      return key;
    },
    async write(id, key) {
      const entry = await entryOf(id);
      const text = Buffer.from(key.toString('hex'), 'latin1');
      try {
        await asking('does not take the master key', () => entry.setSecret(text));
      } finally {
        text.fill(0);
      }
    },
    async remove(id) {
      const entry = await entryOf(id);
      await asking('does not let go of a master key', () => entry.deleteCredential());
    },
  };
}

function accountOf(id: string): string {
  return `master-key-${id}`;
}

async function asking<T>(fault: string, ask: () => T | Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    throw locked(fault, cause);
  }
}

function locked(fault: string, cause?: unknown): SkillboxError {
  const why = cause instanceof Error ? ` (${cause.message})` : '';
  return new SkillboxError('VAULT_LOCKED', `the keyring of this system ${fault}${why}`, {
    hint: 'Unlock it, and start Skillbox in the session that it belongs to. On a machine without one, use a key file.',
    cause,
  });
}
