import { dirname, join } from 'node:path';
import { createSkillbox, type Skillbox } from '../app.ts';
import { dataDirectory } from '../config.ts';
import type { Io } from './io.ts';

/** The Skillbox that a command works with: the one on this machine. */
export async function connect(io: Io): Promise<Skillbox> {
  return createSkillbox({
    dataDirectory: dataDirectory(io.env),
    search: [dirname(process.execPath), ...searchPath(io.env)],
  });
}

/** Runs the body with it and closes it, whatever happens. */
export async function withSkillbox<T>(io: Io, body: (skillbox: Skillbox) => Promise<T>): Promise<T> {
  const skillbox = await connect(io);
  try {
    return await body(skillbox);
  } finally {
    await skillbox.close();
  }
}

function searchPath(env: NodeJS.ProcessEnv): string[] {
  return (env.PATH ?? '')
    .split(':')
    .filter(path => path.startsWith('/'))
    .map(path => join(path));
}
