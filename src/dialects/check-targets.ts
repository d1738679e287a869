import { type Diagnostic, Findings, type Folder, type Skill } from '../skill/index.ts';
import { loadSource, placeOf } from './source.ts';
import { checkTarget, type Target } from './targets.ts';

/** What the named clients would say beyond the dialect's own rules. */
export function checkTargets(targets: readonly Target[], folder: Folder, skill: Skill | null): Diagnostic[] {
  if (targets.length === 0) return [];
  const findings = new Findings('strict');
  const { document } = loadSource(folder);
  if (document === null) return [];
  const { fields } = document.frontmatter;
  const place = (key: string) => {
    const field = fields?.get(key);
    return field === undefined ? { file: document.path, line: 1, column: 1 } : placeOf(document, field.node.at);
  };
  for (const target of targets) {
    checkTarget(target, { folderName: folder.name, documentPath: document.path, fields, skill, place }, findings);
  }
  return findings.list;
}
