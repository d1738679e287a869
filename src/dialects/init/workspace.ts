import type { InitFile, InitWish } from '../init.ts';
import { renderDocument } from '../write.ts';
import { COUNT_PY, LONGEST_SH } from './scripts.ts';
import { titleOf } from './title.ts';

export function workspaceFiles({ name, description }: InitWish): InitFile[] {
  const fields = { name, description, version: '0.1.0', tags: 'text, example' };
  return [
    { path: 'SKILL.md', text: renderDocument(fields, instructions(name)), executable: false },
    { path: 'scripts/count.py', text: COUNT_PY, executable: true },
    { path: 'scripts/longest.sh', text: LONGEST_SH, executable: true },
  ];
}

function instructions(name: string): string {
  return `# ${titleOf(name)}

Both scripts run in the workspace, so they take paths as the user writes them.

- \`count.py FILE\` prints \`{"words": …, "characters": …}\` for one file.
- \`longest.sh DIR\` lists the five text files in a folder that have the most words.
`;
}
