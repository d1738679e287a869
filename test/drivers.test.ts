import { chmodSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openDrivers } from '../src/drivers.ts';
import { tempDir, tidy } from './support/temp.ts';

tidy();

test('nothing in a data directory that others may write is believed: no sandbox is chosen, none begun', async () => {
  const dataDirectory = tempDir('open');
  chmodSync(dataDirectory, 0o777);
  const drivers = openDrivers({
    dataDirectory,
    search: [],
    sandbox: null,
    docker: { socket: '/nowhere', defaultImage: 'none', runtime: null },
    warm: 0,
    spares: 0,
    allowProcess: false,
  });
  await expect(drivers.choose()).rejects.toMatchObject({ code: 'UNWRITABLE' });
  await drivers.begin(); // what is wrong is told by the run
});
