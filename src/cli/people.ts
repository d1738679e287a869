import { loadConfig } from '../config/index.ts';
import type { People } from '../people.ts';
import type { Page, Paging } from '../service/index.ts';
import type { Input } from './command.ts';
import type { Io } from './io.ts';
import { openClient, serverOf } from './on-server.ts';

/** Runs the body with the keys and tenants of a server, or of this data directory, and closes it whatever happens. */
export async function withPeople<T>(input: Input, io: Io, body: (people: People) => Promise<T>): Promise<T> {
  const { url, key } = serverOf(input, io);
  const people = url === null ? await openHere(io) : await openClient(url, key(), io.interrupt);
  try {
    return await body(people);
  } finally {
    await people.close();
  }
}

async function openHere(io: Io): Promise<People> {
  const { openPeople } = await import('../people.ts');
  return openPeople(loadConfig({ env: io.env, role: 'server' }));
}

const PAGE = 200;

/** Every item of a list that comes in parts. */
export async function readAll<T>(read: (paging: Paging) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = [];
  for (let after: string | null = null; ; ) {
    const { items, next } = await read({ limit: PAGE, after });
    all.push(...items);
    if (next === null) return all;
    after = next;
  }
}
