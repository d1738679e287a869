import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, SkillboxError, visible } from '../../base/index.ts';
import type { AuditEntry, AuditFilter, Service } from '../../service/index.ts';
import { readWish } from '../audit-filter.ts';
import { print, readLimit } from '../commands/audit-list.ts';
import { orInterrupted } from '../interrupted.ts';
import type { Io } from '../io.ts';
import type { OnServer } from '../on-server.ts';
import { findRun } from './find-run.ts';

const PAGE = 500;
const FOLLOW_MS = 1000;
type Wish = AuditFilter & { untilMs: number | null };

/** The tenant's entries, in the order in which they were written. */
export const listThere: OnServer = async (service, input, io) => {
  const idOf = async (word: string) => (await orInterrupted(findRun(service, word), io)).id;
  const { untilMs, sinceMs, ...rest } = await readWish(input, idOf);
  const wish: Wish = { ...rest, since: sinceMs, untilMs };
  const entries = await orInterrupted(newest(service, wish, readLimit(input)), io);
  const json = input.flag('json');
  if (input.flag('follow')) {
    print(entries.map(withTenant), json, io);
    await follow(service, wish, entries.at(-1)?.seq ?? 0, json, io);
  } else if (json) io.out(`${JSON.stringify({ entries }, null, 2)}\n`);
  else if (entries.length === 0) io.err('There are no such entries.\n');
  else print(entries.map(withTenant), false, io);
  return EXIT.ok;
};

async function newest(service: Service, wish: Wish, limit: number, above = 0): Promise<AuditEntry[]> {
  const { untilMs, ...filter } = wish;
  const found: AuditEntry[] = [];
  for (let after: string | null = null; found.length < limit; ) {
    const page = await service.audit.list({ ...filter, limit: PAGE, after });
    const fresh = page.items.filter(({ seq }) => seq > above);
    found.push(...fresh.filter(({ time }) => untilMs === null || time < untilMs));
    after = page.next;
    if (after === null || fresh.length < page.items.length) break;
  }
  return found.slice(0, limit).toReversed();
}

async function follow(service: Service, wish: Wish, from: number, json: boolean, io: Io): Promise<void> {
  let above = from;
  const unlessOver = (error: unknown): AuditEntry[] => {
    if (io.interrupt.aborted) return [];
    throw error;
  };
  while (!io.interrupt.aborted) {
    const fresh = await orInterrupted(newest(service, wish, Number.POSITIVE_INFINITY, above), io).catch(unlessOver);
    print(fresh.map(withTenant), json, io);
    above = fresh.at(-1)?.seq ?? above;
    // The interruption ends the wait early; the loop sees it.
    await sleep(FOLLOW_MS, undefined, { signal: io.interrupt }).catch(() => undefined);
  }
}

/** On a server all that is seen is the tenant's own. */
function withTenant(entry: AuditEntry): AuditEntry & { tenant: null } {
  return { ...entry, tenant: null };
}

export const verifyThere: OnServer = async ({ audit }, input, io) => {
  for (const name of ['against', 'key']) {
    if (input.value(name) !== null)
      throw new SkillboxError('USAGE', `--${name} is for the journal of this machine`, {
        hint: 'Whoever runs the server checks it against a checkpoint there.',
      });
  }
  const { ok, entries, wrong } = await audit.verify();
  if (input.flag('json')) io.out(`${JSON.stringify({ ok, entries, wrong }, null, 2)}\n`);
  else if (ok) io.out(`${io.paint('green', '✔')} ${entries} entries are whole and in order\n`);
  else {
    const message = typeof wrong?.message === 'string' ? wrong.message : JSON.stringify(wrong);
    io.err(`${io.paint('red', 'wrong')}: ${visible(message)}\n`);
  }
  return ok ? EXIT.ok : EXIT.failed;
};
