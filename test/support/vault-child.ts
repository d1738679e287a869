/**
 * A process that works on a vault: `node vault-child.ts DIRECTORY WHAT NAME [FROM [TO]]`. FROM: where the key is, `own` or
 * `keyring`. TO: where a re-keying puts the new one.
 * `set`: a value, once. `rotate`: new values, again and again. `rekey`: once. `die-in` and `die-after`: a re-keying that is killed inside its
 * transaction, and between the transaction and the change of the key file.
 */
import { join } from 'node:path';
import { type NewKey, openVault } from '../../src/secrets/index.ts';
import { openStore, type SecretRows } from '../../src/store/index.ts';
import { TESTER } from './events.ts';
import { WRITER } from './record.ts';

const [, , directory = '', what = '', name = '', from = 'own', to = from] = process.argv;
const placeOf = (place: string): NewKey =>
  place === 'keyring' ? { kind: 'keyring' } : { kind: 'own', path: join(directory, 'master.key') };
const store = openStore(directory, WRITER);
const die = () => process.kill(process.pid, 'SIGKILL');
const rows: SecretRows = {
  ...store.secrets,
  rekey: async change => {
    let seen = 0;
    const rewrap: typeof change.rewrap = row => {
      // The first row is changed, the second never is.
      if (what === 'die-in' && ++seen === 2) die();
      return change.rewrap(row);
    };
    const done = await store.secrets.rekey({ ...change, rewrap });
    if (what === 'die-after') die();
    return done;
  },
};
const vault = openVault({ rows, key: placeOf(from), tenant: null });
if (what === 'set' || what === 'rotate') {
  for (let at = 0; at < (what === 'set' ? 1 : 25); at++) {
    const value = Buffer.from(`${name} value ${at}`);
    await vault.set({ name: 'custom/shared', value, hosts: null, fallbackHosts: [] }, TESTER);
  }
} else await vault.rekey(placeOf(to), TESTER);
await store.close();
