import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Answer, Question, Skillbox, StartHooks } from '../../src/app.ts';
import { writeFiles } from '../temp.ts';
import { openSkillbox, tool } from './skillbox.ts';
import { tempDir } from './temp.ts';

/** A person at a terminal who gives one answer and remembers what they were asked. */
export function person(answer: Answer): { ask: NonNullable<StartHooks['ask']>; seen: Question[] } {
  const seen: Question[] = [];
  return {
    seen,
    ask: async question => {
      seen.push(question);
      return { answer, channel: 'terminal', by: 'tester' };
    },
  };
}

type ToolWish = { place?: string; name?: string; description?: string; frontmatter?: string };

/** A tool that writes, so that also the user's own is asked for until somebody says "always" (GB-18). */
export function newTool(wish: ToolWish = {}): string {
  const {
    place = tempDir('tool', 0o755),
    name = 'echoer',
    description = 'Says what it is given.',
    frontmatter = '',
  } = wish;
  const path = writeFiles(join(place, name), {
    'SKILL.md': [
      `---\nname: ${name}\nversion: 1.0.0\ndescription: ${description}\nauthor: tester\nmodes: [Global]\ntimeout: 20\n${frontmatter}---`,
      '### say\n\nSays it.\n\n#### Parameters\n',
      '| Name | Type | Required | Description |\n|------|------|----------|-------------|\n| text | string | yes | What. |\n',
      '#### Command\n\n```bash\n./scripts/say.sh {{text}}\n```\n',
    ].join('\n'),
    'scripts/say.sh': '#!/bin/sh\necho "first: $1"\n',
    'references/notes.md': 'one\ntwo\nthree\n',
  });
  chmodSync(join(path, 'scripts/say.sh'), 0o755);
  return path;
}

export const SAYS = { target: tool('say', { text: 'hello' }), callerEnv: {} };

/** A Skillbox on a data directory of its own, and a look at its tables from outside. */
export async function withData(
  pip: string | null = null,
  warm = 0,
): Promise<{
  data: string;
  skillbox: Skillbox;
  sql: (text: string, ...values: (string | number)[]) => Record<string, unknown>[];
}> {
  const data = join(tempDir('data'), 'data');
  const skillbox = await openSkillbox(data, 'bubblewrap', warm, undefined, pip);
  return {
    data,
    skillbox,
    sql: (text, ...values) => {
      const database = new DatabaseSync(join(data, 'skillbox.db'), { timeout: 5000 });
      try {
        return database.prepare(text).all(...values) as Record<string, unknown>[];
      } finally {
        database.close();
      }
    },
  };
}
