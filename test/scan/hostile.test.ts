import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { atLeast, FAMILIES, RULES, type ScanSeverity } from '../../src/scan/index.ts';
import { scanDirectory } from './sample.ts';

const root = join(import.meta.dirname, 'hostile');
type Case = { about: string; family: string; rule: string; severity: ScanSeverity };
const cases = readdirSync(root).map(name => ({
  name,
  ...(JSON.parse(readFileSync(join(root, name, 'expect.json'), 'utf8')) as Case),
}));

describe('the hostile set', () => {
  test.each(cases)('$name is found', ({ name, rule, severity }) => {
    const { findings } = scanDirectory(join(root, name, 'skill'));
    const found = findings.find(finding => finding.rule === rule && atLeast(finding.severity, severity));
    expect(found, JSON.stringify(findings.map(finding => [finding.rule, finding.severity]))).toBeDefined();
  });

  test('covers every family, by at least forty cases', () => {
    expect(cases.length).toBeGreaterThanOrEqual(40);
    const ids = new Set(RULES.map(rule => rule.id));
    expect(cases.filter(one => !ids.has(one.rule)).map(one => one.name)).toEqual([]);
    expect(Object.keys(FAMILIES).filter(family => !cases.some(one => one.family === family))).toEqual([]);
  });

  test('does no harm: nothing in its scripts is reached, and every host is reserved', () => {
    for (const { name } of cases) {
      const skill = join(root, name, 'skill');
      for (const file of readdirSync(skill, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())) {
        const text = readFileSync(join(file.parentPath, file.name), 'latin1');
        if (/\.(?:sh|py|m?js|pl|rb|ps1|bat)$/.test(file.name)) expect(text, name).toMatch(/nothing below ever runs/);
        const hosts = Array.from(text.matchAll(/https?:\/\/([^\s/"'`)@?:]+)/g), match => match[1] ?? '');
        expect(
          hosts.filter(host => !isReserved(host)),
          name,
        ).toEqual([]);
      }
    }
  });
});

/** RFC 2606 and RFC 5737; the two that a rule is about are only named, never reached. */
function isReserved(host: string): boolean {
  return /\.invalid\.?$|^192\.0\.2\.\d+$|^169\.254\.169\.254$|^webhook\.site$/.test(host);
}
