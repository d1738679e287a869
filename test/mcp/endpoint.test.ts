import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, test, vi } from 'vitest';
import type { Library } from '../../src/agent/index.ts';
import { createEndpoint } from '../../src/mcp/http.ts';
import type { Host } from '../../src/mcp/index.ts';

test.each(['GET', 'POST'])('of a caller who left before they were let in nothing is kept (%s)', async method => {
  const endpoint = createEndpoint({
    makeRoom: () => ({ host: { live: new Set() } as unknown as Host, current: () => null }),
    callerIn: () => ({ library: {} as Library, scopes: [], key: null }),
  });
  const confirm = vi.fn(async () => undefined);
  const served = Promise.withResolvers<void>();
  const server = createServer((req, res) => {
    once(res, 'close')
      .then(() => endpoint.serve({ tenant: 't', id: 'i', confirm }, req, res, undefined))
      .then(served.resolve, served.reject);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write(`${method} /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  await once(server, 'request');
  client.destroy();
  try {
    await served.promise;
    await endpoint.recheck();
    expect(confirm).not.toHaveBeenCalled();
  } finally {
    await endpoint.close();
    server.close();
  }
});
