import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readSkill } from '../../src/dialects/index.ts';
import type { Scan, ScanOptions } from '../../src/scan/index.ts';
import { scanSkill } from '../../src/scan/index.ts';
import type { Sample } from '../../src/scan/rule.ts';
import { openDirectory } from '../../src/skill/index.ts';

const HEADER = '---\nname: sample\ndescription: Adds numbers. Use when asked to add.\n---\n\n';

/** Writes a sample as a skill: a name that ends with `*` is executable, with `@` a link to its content. */
export function writeSample(parent: string, sample: Sample): string {
  const files: Record<string, string> =
    typeof sample === 'string' ? { 'SKILL.md': HEADER + sample } : { 'SKILL.md': `${HEADER}Add.\n`, ...sample };
  const directory = join(mkdtempSync(join(parent, 'sample-')), 'sample');
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, name.replace(/[*@]$/, ''));
    mkdirSync(dirname(path), { recursive: true });
    if (name.endsWith('@')) symlinkSync(content, path);
    // Latin-1 where a sample spells bytes, UTF-8 where it spells letters.
    else writeFileSync(path, content, /[\u0100-\uffff]/.test(content) ? 'utf8' : 'latin1');
    if (name.endsWith('*')) chmodSync(path, 0o755);
  }
  return directory;
}

export function scanDirectory(directory: string, options: Partial<ScanOptions> = {}): Scan {
  const folder = openDirectory(directory);
  try {
    return scanSkill(folder, readSkill(folder, { mode: 'lenient', dialect: null }).skill, options);
  } finally {
    folder.close();
  }
}
