import type { InitFile, InitWish } from '../init.ts';
import { renderDocument } from '../write.ts';
import { COUNT_PY } from './scripts.ts';
import { titleOf } from './title.ts';

export function agentSkillsFiles({ name, description }: InitWish): InitFile[] {
  const fields = { name, description, metadata: { version: '0.1.0' } };
  return [
    { path: 'SKILL.md', text: renderDocument(fields, instructions(name)), executable: false },
    { path: 'scripts/count.py', text: COUNT_PY, executable: true },
    { path: 'references/counting.md', text: REFERENCE, executable: false },
  ];
}

function instructions(name: string): string {
  return `# ${titleOf(name)}

1. Save the text to a file if it is not in one.
2. Run \`python3 scripts/count.py FILE\`. It prints one JSON object: \`{"words": …, "characters": …}\`.
3. Answer with the numbers in a sentence.

What counts as a word is explained in [references/counting.md](references/counting.md); read it only when asked.
`;
}

const REFERENCE = `# What counts as a word

Everything between two stretches of white space: \`well-known\` is one word, \`well - known\` is three.
`;
