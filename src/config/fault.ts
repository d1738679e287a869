import { SkillboxError, visibleLine } from '../base/index.ts';

/** Where a value stands. */
export type Place =
  | { from: 'flag'; flag: string }
  | { from: 'environment'; variable: string }
  | { from: 'file'; file: string; line: number; column: number };

export type Fault = { place: Place; message: string; hint: string };

export function renderPlace(place: Place): string {
  switch (place.from) {
    case 'flag':
      return `--${place.flag}`;
    case 'environment':
      return place.variable;
    case 'file':
      return `${place.file}:${place.line}:${place.column}`;
  }
}

/** All of them at once: nobody wants to mend a configuration one start at a time. */
export function invalid(faults: readonly Fault[]): SkillboxError {
  const lines = faults.map(({ place, message, hint }) => `${renderPlace(place)} ${message}. ${hint}`);
  const [only, second] = faults;
  // A flag is mended where it was typed; a check of the configuration would not see it.
  if (only?.place.from === 'flag' && second === undefined)
    return new SkillboxError('CONFIG_INVALID', `${renderPlace(only.place)} ${only.message}`, {
      hint: only.hint,
      details: { faults },
    });
  const told = lines.length === 1 ? lines[0] : `${lines.length} faults in the configuration:\n  ${lines.join('\n  ')}`;
  return new SkillboxError('CONFIG_INVALID', told ?? '', { details: { faults } });
}

/** Whatever stands there is shown short and harmless, and an address without its password. */
export function quoted(text: string): string {
  return `"${visibleLine(text.replace(/:\/\/.*@/s, '://…@'), 60)}"`;
}
