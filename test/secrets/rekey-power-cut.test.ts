import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { TESTER } from '../support/events.ts';
import { openTestVault } from '../support/secrets.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const { fsyncSync, rmSync } = fs;
afterEach(() => {
  Object.assign(fs, { fsyncSync, rmSync });
  syncBuiltinESMExports();
});

/** What goes to the disk and what is removed from now on, in their order. */
function watchFiles(): string[] {
  const happened: string[] = [];
  fs.fsyncSync = fd => {
    happened.push(`sync ${fs.readlinkSync(`/proc/self/fd/${fd}`)}`);
    fsyncSync(fd);
  };
  fs.rmSync = (path, options) => {
    happened.push(`remove ${String(path)}`);
    rmSync(path, options);
  };
  syncBuiltinESMExports();
  return happened;
}

test('the old key goes only when the file of the operator is on the disk, whoever made it', async () => {
  const directory = tempDir('rekey-power');
  const elsewhere = tempDir('rekey-power-key');
  const { store, vault } = openTestVault(directory);
  await vault.set({ name: 'openai', value: Buffer.from('a value'), hosts: null, fallbackHosts: [] }, TESTER);
  const [own, file, link] = [join(directory, 'master.key'), join(elsewhere, 'key'), join(elsewhere, 'link')];
  fs.writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
  fs.symlinkSync(file, link);
  const happened = watchFiles();
  expect(await vault.rekey({ kind: 'file', path: link }, TESTER)).toBe(1);
  await store.close();
  expect(fs.existsSync(own)).toBe(false);
  const before = happened.slice(0, happened.indexOf(`remove ${own}`));
  expect(before).toContain(`sync ${file}`);
  expect(before).toContain(`sync ${elsewhere}`);
});
