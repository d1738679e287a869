import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { writeFiles } from '../temp.ts';
import { skillText } from './make.ts';

export type Step = { act: string; a: string; b: string; text: string };

/** One change of a tree of skills; what cannot be done in its state is not done. */
export function step(root: string, { act, a, b, text }: Step): void {
  const [from, to] = [join(root, a), join(root, b)];
  try {
    if (act === 'write') {
      mkdirSync(from, { recursive: true });
      writeFileSync(join(from, 'SKILL.md'), skillText('s', text, text.length % 2 === 0 ? 'version: 1.0.0\n' : ''));
    } else if (act === 'manifest') writeFileSync(join(from, 'skill.yaml'), `name: m\ndescription: ${text}\n`);
    else if (act === 'entrypoint') writeFiles(from, { 'scripts/main.sh': '' });
    else if (act === 'ignore') writeFileSync(join(from, '.skillboxignore'), 'SKILL.md\n');
    else if (act === 'delete') rmSync(from, { recursive: true, force: true });
    else if (act === 'unmark') unlinkSync(join(from, 'SKILL.md'));
    else if (act === 'rename') renameSync(from, to);
    else if (act === 'link') symlinkSync(to, from);
    else if (act === 'link file') symlinkSync(join(to, 'SKILL.md'), join(from, 'SKILL.md'));
    else if (act === 'hard link') linkSync(join(to, 'SKILL.md'), join(from, 'SKILL.md'));
    else if (act === 'swap') {
      renameSync(from, `${from}.aside`);
      renameSync(to, from);
      renameSync(`${from}.aside`, to);
    } else if (act === 'relink') {
      unlinkSync(from);
      symlinkSync(to, from);
    }
  } catch {
    // the name is taken, or there is nothing of that name
  }
}

const ACTS = [
  'write',
  'write',
  'write',
  'manifest',
  'entrypoint',
  'ignore',
  'delete',
  'unmark',
  'rename',
  'link',
  'link file',
  'hard link',
  'swap',
  'relink',
] as const;
const path = fc.constantFrom('a', 'b', 'c', 'a/in', 'c/d', 'c/d/e');

export const steps = fc.array(
  fc.record({ act: fc.constantFrom(...ACTS), a: path, b: path, text: fc.constantFrom('A.', 'B.', 'CC.', '') }),
  { minLength: 1, maxLength: 4 },
);
