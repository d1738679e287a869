// The same work as the other tools' `list`: find every skill, read its header, print name and description.
import { join } from 'node:path';
import { findSkills } from '../src/catalog/index.ts';
import { readHeader } from '../src/dialects/index.ts';

const lines = findSkills(process.argv[2] ?? '.').map(folder => {
  const { name, description } = readHeader(join(folder, 'SKILL.md'));
  return `${name}: ${description}`;
});
process.stdout.write(`${lines.join('\n')}\n`);
