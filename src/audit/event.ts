import type { JsonObject } from '../base/index.ts';

/** What happened, before it has a place in the journal. Never a secret's value. */
export type AuditEvent = {
  /** `run.started`, `decision.made`, `approval.given` …: see EVENT_TYPES. */
  type: string;
  /** Who caused it: the local user, an API key's id, a tenant's token; and through which channel. */
  actor: { id: string; channel: string };
  tenant: string | null;
  /** What it is about: a run, a skill, a key; null where nothing has an id. */
  subject: string | null;
  data: JsonObject;
};

/** Where events go. Resolves when the entry would survive a crash of the machine; whoever can't append does not act. */
export interface Journal {
  append(...events: AuditEvent[]): Promise<void>;
}
