import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startBroker } from '../../src/broker/index.ts';
import { briefOf, newToken } from '../support/broker.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const start = () =>
  startBroker(
    join(tempDir('broker', 0o711), 'b'),
    briefOf(newToken()),
    3128,
    { roots: [], pins: [], certificates: null },
    () => {},
  );

it('a broker that was killed has died, though its run ended before anybody heard of it', async () => {
  const broker = await start();
  process.kill(broker.pid, 'SIGKILL');
  await broker.close();
  expect(await broker.died).toBe(true);
});

it('one that was asked to go has not', async () => {
  const broker = await start();
  await broker.close();
  expect(await broker.died).toBe(false);
});
