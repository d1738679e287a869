import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BROKER_PROGRAM,
  type Brief,
  type BrokerEvent,
  brokerEnvironment,
  type RunningBroker,
  startBroker,
} from '../broker/index.ts';
import { certificatesWarning, hostCertificates } from '../egress/index.ts';
import { EGRESS_PORT, type RunSpec } from '../sandbox/index.ts';
import { createRedactor } from '../secrets/index.ts';
import { partPath, type RunRecord } from '../store/index.ts';
import { createWarner, diedEvent, JournalQueue, scrubEvent, toAuditEvent } from './broker-events.ts';
import type { Way } from './network.ts';
import type { Planned, Runner } from './plan.ts';
import { BROKER_SOCKET } from './way-out.ts';

export const BROKER_CA = '/skillbox/ca.pem';
export const BROKER_PORT = EGRESS_PORT;

/**
 * SK-05, SK-06: the way out of a run that uses secrets. A token for exactly what was granted, and a broker process that holds
 * the run to it; without either the run does not start.
 */
export async function openBroker(runner: Runner, record: RunRecord, planned: Planned): Promise<Way> {
  const { lending, dataDirectory, writer, surroundings, store, standby } = runner;
  const { grant } = planned.wish;
  const caller = { tenant: record.tenant, actor: record.by };
  const { token, brief, values, warnings } = await lending.mint({
    caller,
    run: record.id,
    skill: { name: record.skill.name, digest: planned.snapshot.digest },
    declared: grant.secrets,
    granted: grant.secrets,
    hosts: grant.network.kind === 'hosts' ? grant.network.hosts : [],
    timeoutMs: planned.spec.limits.timeMs + planned.spec.limits.graceMs,
  });
  record.warnings.push(...warnings);
  const told: Brief = { ...brief, public: grant.network.kind === 'public' };
  const state = { broker: null as RunningBroker | null, isClosing: false };
  const queue = new JournalQueue(store.journal, () => state.broker?.close());
  const redact = createRedactor(values);
  const warn = createWarner(warning => void record.warnings.push(warning));
  const tell = (event: BrokerEvent) => {
    warn(event);
    const entry = toAuditEvent(event, record);
    if (entry !== null) queue.add({ ...entry, data: scrubEvent(redact, entry.data) });
  };
  const close = async () => {
    state.isClosing = true;
    // The token ends with the process that knows it, and in the books as well.
    await state.broker?.close();
    try {
      // What it was used for stands before its end.
      await queue.settled();
    } finally {
      await lending.revoke(record.id, caller);
    }
  };
  try {
    const directory = join(dataDirectory, 'egress');
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const around = { ...surroundings, certificates: await hostCertificates() };
    const untrusted = certificatesWarning();
    if (untrusted !== null) record.warnings.push(untrusted);
    const waiting = standby.take(BROKER_PROGRAM);
    const broker = await startBroker(partPath(directory, writer), told, BROKER_PORT, around, tell, waiting);
    state.broker = broker;
    void broker.died.then(died => {
      if (!died && state.isClosing) return;
      record.warnings.push('the broker died during the run: requests failed from then on');
      queue.add(diedEvent(record));
    });
    const env = brokerEnvironment(told, token, BROKER_PORT, BROKER_CA);
    return { spec: withBroker(planned.spec, broker, env), redact, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The same run with the broker as its only way out. `env` wins over what the skill or the caller said. Pure. */
export function withBroker(
  spec: RunSpec,
  broker: { socket: string; ca: string },
  env: Readonly<Record<string, string>>,
): RunSpec {
  return {
    ...spec,
    env: { ...spec.env, ...env },
    mounts: [...spec.mounts, { kind: 'text', at: BROKER_CA, text: broker.ca }],
    network: { kind: 'egress', socket: broker.socket, at: BROKER_SOCKET },
  };
}
