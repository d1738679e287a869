import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type ApiServer, type Listening, listen } from '../../src/api/index.ts';
import { serve } from './support.ts';

let server: ApiServer;
let at: Listening;
afterEach(async () => {
  server.server.closeAllConnections();
  await server.close();
});

let release: () => void = () => undefined;
let entered: Promise<void>;

async function start(): Promise<void> {
  let enter: () => void = () => undefined;
  entered = new Promise(resolve => {
    enter = resolve;
  });
  server = await serve(api => {
    api.get('/v1/open', { config: { scope: 'anyone' } }, async () => ({ ok: true }));
    api.get('/v1/long', { config: { scope: 'anyone' } }, async () => {
      enter();
      await new Promise<void>(resolve => {
        release = resolve;
      });
      return { done: true };
    });
  });
  at = await listen(server, '127.0.0.1', 0);
}

const ask = (path: string) => fetch(`${at.url}${path}`);

describe('when the server ends', () => {
  it('what is on the way is answered, nothing new is taken, and it waits for the others', async () => {
    await start();
    expect((await ask('/v1/open')).status).toBe(200);
    const long = ask('/v1/long');
    await entered;
    let othersEnded = false;
    const drained = at.drain(5000, async () => {
      await sleep(150);
      othersEnded = true;
    });
    await sleep(50);
    await expect(ask('/v1/open')).rejects.toThrow();
    release();
    expect(await (await long).json()).toEqual({ done: true });
    expect(await drained).toBe(true);
    expect(othersEnded).toBe(true);
  });

  it('what does not end in time is cut off', async () => {
    await start();
    const long = ask('/v1/long').catch((error: unknown) => error);
    await entered;
    expect(await at.drain(200, async () => undefined)).toBe(false);
    expect(await long).toBeInstanceOf(Error);
    release();
  });

  it('others that fail do not hold it up for ever, and are told of', async () => {
    await start();
    await expect(at.drain(5000, () => Promise.reject(new Error('the queue broke')))).rejects.toThrow('the queue broke');
    await expect(ask('/v1/open')).rejects.toThrow();
  });
});
