import type { JsonObject } from '../base/index.ts';
import type { EventType } from './types.ts';

/** Who caused it: the local user, an API key's id, a tenant's token; and through which channel. */
export type Actor = { id: string; channel: string };

/** Who is asking, and for which tenant: null on a machine of one's own. Everything that is done or read is done for one. */
export type Caller = { tenant: string | null; actor: Actor };

/** What happened, before it has a place in the journal. Never a secret's value. */
export type AuditEvent = {
  type: EventType;
  actor: Actor;
  tenant: string | null;
  /** What it is about: a run, a skill, a key; null where nothing has an id. */
  subject: string | null;
  /** See EVENT_TYPES for the fields. Numbers are whole: see canonical.ts. */
  data: JsonObject;
};

/** Where events go. Resolves when the entry would survive a crash of the machine; whoever can't append does not act. */
export interface Journal {
  append(...events: AuditEvent[]): Promise<void>;
}
