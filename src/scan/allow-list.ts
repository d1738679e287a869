import { SkillboxError } from '../base/index.ts';

/**
 * The user's list of findings that he has looked at: one fingerprint a line, the rest of the line is his note. A fingerprint
 * names rule, file and text: a name alone would let any skill that takes the name profit from the list.
 */
export function parseAllowList(text: string): Set<string> {
  const allowed = new Set<string>();
  text.split('\n').forEach((line, index) => {
    const word = (line.split('#', 1)[0] ?? '').trim().split(/\s/, 1)[0] ?? '';
    if (word === '') return;
    if (!/^[0-9a-f]{16}$/.test(word)) {
      throw new SkillboxError(
        'USAGE',
        `line ${index + 1} of the allow list is "${word.slice(0, 40)}", not a fingerprint`,
        {
          hint: 'Each line starts with the 16 characters that `skillbox skill scan` shows behind "silence:".',
        },
      );
    }
    allowed.add(word);
  });
  return allowed;
}
