import { describe, expect, it, onTestFinished } from 'vitest';
import type { RunEvent } from '../../src/service/index.ts';
import { openServed } from '../support/served.ts';
import { publish, startOf } from '../support/service.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';
import { tidy } from '../support/temp.ts';

tidy();

const LINES = 400;

describe.skipIf(NO_SANDBOX)('an offset that no answer has named', { timeout: 60_000 }, () => {
  it('is refused by name, where a log is read and where it is followed; nothing is made up', async () => {
    const served = await openServed();
    onTestFinished(() => served.close());
    const client = await served.clientFor('one');
    const key = await served.keyFor('one');
    await publish(client, { name: 'long', body: `for i in $(seq ${LINES}); do echo "line $i of many"; done\n` });
    const { id } = await client.runs.start(startOf('long'), { idempotencyKey: null });
    await client.runs.wait(id, { timeoutMs: null, signal: null });
    const { lines } = await client.runs.logs(id, 0);
    const whole = lines.map(({ text }) => text).join('');
    expect(whole.split('\n').length).toBe(LINES + 1);
    const follow = async (offset: number) => {
      const events: RunEvent[] = [];
      for await (const event of client.runs.follow(id, { offset, signal: null })) events.push(event);
      return events;
    };
    const refused = { code: 'USAGE', message: expect.stringContaining('no place in this log') };
    for (const odd of [1, 2, 8, 13, 14, 40]) {
      await expect(client.runs.logs(id, odd)).rejects.toMatchObject(refused);
      await expect(follow(odd)).rejects.toMatchObject(refused);
      // A browser comes back by itself for as long as it is not refused.
      const headers = { authorization: `Bearer ${key}`, 'last-event-id': String(odd) };
      expect((await fetch(`${served.url}/v1/executions/${id}/events`, { headers })).status).toBe(400);
      expect((await fetch(`${served.url}/v1/executions/${id}/logs?offset=${odd}`, { headers })).status).toBe(400);
    }
    expect(await follow(999_999)).toMatchObject([{ kind: 'state', run: { state: 'success' } }]);
  });
});
