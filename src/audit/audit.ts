import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { SkillboxError } from '../base/index.ts';
import {
  type Checkpoint,
  digestOf,
  isSignedBy,
  keyId,
  parseCheckpoints,
  publicKeyOf,
  requireKey,
  signCheckpoint,
} from './checkpoint.ts';
import { chainName, type Entry, type Head, openEntry, toLine } from './entry.ts';
import type { Actor, AuditEvent } from './event.ts';
import { type EntryFilter, fits, type JournalStore, type KeptEntry, type Page, type Rotation } from './journal.ts';
import { makeKey, readKey } from './key-file.ts';
import { Verifier, type Wrong } from './verify.ts';

export type Verified = {
  /** null: every entry is in its place. */
  wrong: Wrong | null;
  /** How many were checked. */
  entries: number;
  chains: Head[];
  /** The newest that it was held against; null without one. */
  checkpoint: { time: number; key: string } | null;
};

/** What a person or an entrance does with the journal. */
export interface Audit {
  list(filter: EntryFilter, limit: number): Promise<Page>;
  after(position: number, filter: EntryFilter, limit: number): Promise<Page>;
  /** `against` is the text of one checkpoint or of several; `key` their public key, or null for the one that is kept here. */
  verify(against: string | null, key: string | null): Promise<Verified>;
  /** The chain of one tenant: what is wrong with another's is not this one's affair. */
  verifyTenant(tenant: string | null): Promise<Pick<Verified, 'wrong' | 'entries'>>;
  checkpoint(actor: Actor): Promise<Checkpoint>;
  /** Every entry that fits with its line, the oldest first. */
  export(filter: EntryFilter): AsyncIterable<{ entry: Entry; line: string }>;
  rotate(beforeMs: number, actor: Actor): Promise<Rotation | null>;
}

/** The journal of a data directory; `directory` holds the signing key beside the sealed files. */
export function openAudit(journal: JournalStore, directory: string): Audit {
  const keyPath = join(directory, 'checkpoint.key');
  return {
    list: (filter, limit) => journal.list(filter, limit),
    after: (position, filter, limit) => journal.after(position, filter, limit),
    rotate: (beforeMs, actor) => journal.rotate(beforeMs, actor),
    async verify(against, key) {
      const checkpoints = against === null ? [] : parseCheckpoints(against);
      const trusted = checkpoints.length === 0 ? '' : trustedKey(keyPath, key);
      for (const checkpoint of checkpoints) {
        const wrong = checkOrigin(checkpoint, trusted, journal.id);
        if (wrong !== null) return { wrong, entries: 0, chains: [], checkpoint: null };
      }
      return verifyAll(journal, checkpoints);
    },
    verifyTenant: tenant => verifyChain(journal, chainName(journal.id, tenant)),
    async checkpoint(actor) {
      const key = readKey(keyPath) ?? (await createKey(journal, keyPath, actor));
      const checkpoint = signCheckpoint(journal.id, Date.now(), await journal.heads(), key);
      // Told before anybody has it: what is outside is known here too.
      await journal.append(madeEvent(actor, checkpoint));
      return checkpoint;
    },
    async *export(filter) {
      for await (const step of journal.walk()) {
        if (step.kind === 'damage') throw damaged(step.what, step.where);
        const entry = readEntry(step);
        if (fits(entry, filter)) yield { entry, line: toLine(step) };
      }
    },
  };
}

function readEntry(step: KeptEntry): Entry {
  try {
    return openEntry(step);
  } catch (cause) {
    throw damaged('its text was changed', step.where, cause);
  }
}

function damaged(what: string, where: string, cause?: unknown): SkillboxError {
  return new SkillboxError('UNREADABLE', `the journal is damaged: ${what} (${where})`, {
    hint: 'Run `skillbox audit verify`.',
    cause,
  });
}

async function verifyAll(journal: JournalStore, checkpoints: readonly Checkpoint[]): Promise<Verified> {
  const verifier = new Verifier(
    journal.id,
    [],
    checkpoints.flatMap(({ heads }) => heads),
  );
  const newest = checkpoints.toSorted((a, b) => a.time - b.time).at(-1);
  const answer = (wrong: Wrong | null): Verified => ({
    wrong,
    entries: verifier.entries,
    chains: verifier.heads,
    checkpoint: newest === undefined ? null : { time: newest.time, key: newest.key },
  });
  for await (const step of journal.walk()) {
    const wrong = verifier.check(step);
    if (wrong !== null) return answer(wrong);
  }
  return answer(verifier.finish());
}

async function verifyChain(journal: JournalStore, chain: string): Promise<Pick<Verified, 'wrong' | 'entries'>> {
  const verifier = new Verifier(journal.id, [], []);
  for await (const step of journal.walk()) {
    // By where it was found, and by what it says of itself: an entry that was moved out of the chain leaves a gap in it.
    if (step.kind === 'entry' && !belongsTo(step, chain)) continue;
    const wrong = verifier.check(step);
    if (wrong !== null) return { wrong, entries: verifier.entries };
  }
  return { wrong: null, entries: verifier.entries };
}

function belongsTo({ found, body }: KeptEntry, chain: string): boolean {
  if (found?.chain === chain) return true;
  try {
    return (JSON.parse(body) as Partial<Entry> | null)?.chain === chain;
  } catch {
    return false; // it says nothing, and stands elsewhere
  }
}

function trustedKey(keyPath: string, given: string | null): string {
  if (given !== null) return requireKey(given);
  const kept = readKey(keyPath);
  if (kept !== null) return publicKeyOf(kept);
  throw new SkillboxError('USAGE', 'there is no key here to check the checkpoint with', {
    hint: 'Give the public key that was shown when it was made with --key.',
  });
}

/** A checkpoint that was altered, or is another store's, says nothing about this journal. */
function checkOrigin(checkpoint: Checkpoint, key: string, store: string): Wrong | null {
  const wrong = (what: string): Wrong => ({ chain: null, seq: null, where: 'the checkpoint', what });
  if (!isSignedBy(checkpoint, key)) return wrong(`it is not signed with the key ${key}, or was changed afterwards`);
  if (checkpoint.store !== store) return wrong(`it is of the store ${checkpoint.store}, and this one is ${store}`);
  return null;
}

/** Told before it signs anything; when two processes make one at once, both tell of the one that was kept. */
async function createKey(journal: JournalStore, keyPath: string, actor: Actor): Promise<KeyObject> {
  const key = makeKey(keyPath);
  const publicKey = publicKeyOf(key);
  await journal.append({
    type: 'key.created',
    actor,
    tenant: null,
    subject: keyId(publicKey),
    data: { purpose: 'checkpoint', scopes: [], publicKey },
  });
  return key;
}

function madeEvent(actor: Actor, checkpoint: Checkpoint): AuditEvent {
  return {
    type: 'checkpoint.made',
    actor,
    tenant: null,
    subject: digestOf(checkpoint),
    data: { heads: checkpoint.heads.length, key: checkpoint.key },
  };
}
