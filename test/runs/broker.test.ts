import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import type { AuditEvent, Journal } from '../../src/audit/index.ts';
import { openBroker } from '../../src/runs/broker.ts';
import type { Planned, Runner } from '../../src/runs/plan.ts';
import type { RunRecord } from '../../src/store/index.ts';
import { briefOf, newToken } from '../support/broker.ts';
import { specOf } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

/** As one that others write into as well: each append takes its time, and they may overtake each other. */
function slowJournal() {
  const types: string[] = [];
  const journal: Pick<Journal, 'append'> = {
    async append(...events: AuditEvent[]) {
      const waitMs = events.some(({ type }) => type === 'broker.refused') ? 100 : 0;
      await new Promise(resolve => setTimeout(resolve, waitMs));
      types.push(...events.map(({ type }) => type));
    },
  };
  return { types, journal };
}

test('SK-16 what a run did with its token is written before the end of the token, however busy the journal is', async () => {
  const { types, journal } = slowJournal();
  const token = newToken();
  const about = { actor: { id: 'tester', channel: 'local' }, tenant: null, subject: 'run-1', data: {} };
  const runner = {
    lending: {
      mint: async () => ({ token, brief: briefOf(token), values: [{ name: 'token', value: token }], warnings: [] }),
      revoke: () => journal.append({ ...about, type: 'token.revoked' }),
    },
    dataDirectory: tempDir('broker', 0o711),
    writer: { id: 'writer', isDead: () => false },
    surroundings: { pins: [], roots: [] },
    store: { journal },
    standby: { take: () => null },
  } as unknown as Runner;
  const record = { id: 'run-1', skill: { name: 'x', digest: 'y' }, by: about.actor, tenant: null, warnings: [] };
  const planned = {
    spec: specOf(['true']),
    snapshot: { digest: 'y' },
    wish: { grant: { secrets: [], network: { kind: 'broker' } } },
  };
  const way = await openBroker(runner, record as unknown as RunRecord, planned as unknown as Planned);
  const { network } = way.spec;
  if (network.kind !== 'egress') throw new Error('the run has no way out');
  const client = connect(network.socket);
  const asked = `GET http://evil.test/ HTTP/1.1\r\nhost: evil.test\r\nproxy-authorization: Bearer ${token}\r\n\r\n`;
  client.write(asked.repeat(3));
  await once(client, 'data');
  client.destroy();
  await way.close();
  expect(types).toEqual(['broker.refused', 'broker.refused', 'broker.refused', 'token.revoked']);
});
