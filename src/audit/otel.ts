import type { JsonObject, JsonValue } from '../base/index.ts';
import type { Entry } from './entry.ts';

/** Entries as OpenTelemetry log records (OTLP/JSON): one line of a file that a collector reads. */
export function toOtel(entries: readonly Entry[], version: string): JsonObject {
  return {
    resourceLogs: [
      {
        resource: { attributes: attributes({ 'service.name': 'skillbox', 'service.version': version }) },
        scopeLogs: [{ scope: { name: 'skillbox.audit' }, logRecords: entries.map(toRecord) }],
      },
    ],
  };
}

function toRecord({ chain, seq, time, type, actor, tenant, subject, data, prev, hash }: Entry): JsonObject {
  const own = {
    'skillbox.audit.chain': chain,
    'skillbox.audit.seq': seq,
    'skillbox.audit.prev': prev,
    'skillbox.audit.hash': hash,
    'skillbox.actor.id': actor.id,
    'skillbox.actor.channel': actor.channel,
    ...(tenant === null ? {} : { 'skillbox.tenant': tenant }),
    ...(subject === null ? {} : { 'skillbox.subject': subject }),
  };
  return {
    // Nanoseconds do not fit a number, so the format has them as text.
    timeUnixNano: `${time}000000`,
    severityNumber: 9,
    severityText: 'INFO',
    eventName: `skillbox.${type}`,
    body: toAny(data),
    attributes: attributes(own),
  };
}

function attributes(values: JsonObject): JsonValue[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: toAny(value) }));
}

/** OTLP has one member for each kind of value; an empty one stands for null. */
function toAny(value: JsonValue): JsonObject {
  if (value === null) return {};
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return { intValue: String(value) };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(toAny) } };
  return { kvlistValue: { values: attributes(value) } };
}
