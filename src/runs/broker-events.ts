import type { AuditEvent, EventType, Journal } from '../audit/index.ts';
import type { JsonObject, JsonValue } from '../base/index.ts';
import type { BrokerEvent } from '../broker/index.ts';
import type { Redactor } from '../secrets/index.ts';
import type { RunRecord } from '../store/index.ts';

/** SK-16: every use, denial and release, with run, skill and capability, never a value. Null for what is no deed. */
export function toAuditEvent(event: BrokerEvent, record: RunRecord): AuditEvent | null {
  const skill = skillOf(record);
  const about = (type: EventType, data: JsonObject) => aboutRun(record, type, data);
  switch (event.event) {
    case 'ready':
      return null;
    case 'used': {
      const { event: _kind, ...data } = event;
      return about('broker.called', { ...data, skill });
    }
    case 'denied': {
      const { capability, method, host, reason } = event;
      if (host === null && capability?.startsWith('custom/') === true)
        return about('secret.refused', { secret: capability, capability, skill });
      return about('broker.refused', { capability, method, host, reason, skill });
    }
    case 'failed': {
      const { capability, host, reason } = event;
      return about('broker.failed', { capability, host, reason, skill });
    }
    case 'released':
      return about('secret.released', { secret: event.capability, capability: event.capability, skill });
  }
}

export function diedEvent(record: RunRecord): AuditEvent {
  return aboutRun(record, 'broker.died', { skill: skillOf(record) });
}

function aboutRun({ by, tenant, id }: RunRecord, type: EventType, data: JsonObject): AuditEvent {
  return { type, actor: by, tenant, subject: id, data };
}

const MAX_TOLD = 300;

/** A run may have put what it was given into a path or a host's name. What is long is cut after that, not before. */
export function scrubEvent(redact: Redactor | null, data: JsonObject): JsonObject {
  const clean = redact === null ? data : (redact.json(data) as JsonObject);
  const short = (value: JsonValue) =>
    typeof value === 'string' && value.length > MAX_TOLD ? `${value.slice(0, MAX_TOLD).toWellFormed()}…` : value;
  return Object.fromEntries(Object.entries(clean).map(([name, value]) => [name, short(value)]));
}

function skillOf({ skill: { name, digest } }: RunRecord): JsonObject {
  return { name, digest };
}

const MAX_WARNINGS = 5;

/**
 * For the person: what was granted and came to nothing all the same, at a host or at a limit. The run itself hears only that it did
 * not work. What was never granted is its own affair, and in the journal.
 */
export function createWarner(warn: (warning: string) => void): (event: BrokerEvent) => void {
  const told = new Set<string>();
  return event => {
    if (event.event !== 'failed' && event.event !== 'denied') return;
    const { event: kind, capability, host, reason } = event;
    if (host === null || (kind === 'denied' && capability === null)) return;
    const warning = reason.startsWith(host) ? reason : `${host}: ${reason}`;
    if (told.size === MAX_WARNINGS || told.has(warning)) return;
    told.add(warning);
    warn(warning);
  };
}

/** Entries in their order, several at once while the journal is busy. One that cannot be written ends the way out. */
export class JournalQueue {
  readonly #journal: Journal;
  readonly #onFault: () => unknown;
  #waiting: AuditEvent[] = [];
  #writing: Promise<void> | null = null;
  #fault: { error: unknown } | null = null;

  constructor(journal: Journal, onFault: () => unknown) {
    this.#journal = journal;
    this.#onFault = onFault;
  }

  add(event: AuditEvent): void {
    this.#waiting.push(event);
    this.#writing ??= this.#write();
  }

  /** When all is written; throws where something was not. */
  async settled(): Promise<void> {
    await this.#writing;
    if (this.#fault !== null) throw this.#fault.error;
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0 && this.#fault === null) {
      const batch = this.#waiting.splice(0, 100);
      try {
        await this.#journal.append(...batch);
      } catch (error) {
        this.#fault = { error };
        this.#onFault();
      }
    }
    this.#writing = null;
  }
}
