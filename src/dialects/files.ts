import type { Findings, Folder, Language, Resource, Script } from '../skill/index.ts';

/** WS-02: what runs a script, decided by its last extension. */
const LANGUAGES: Record<string, Language> = {
  py: 'python',
  sh: 'bash',
  bash: 'bash',
  js: 'node',
  mjs: 'node',
  cjs: 'node',
  ts: 'typescript',
};
const OTHER_SCRIPTS = new Set(['rb', 'pl', 'php', 'ps1', 'bat', 'cmd', 'lua', 'r', 'zsh', 'fish', 'go', 'tsx', 'jsx']);

export function languageOf(path: string): Language | null {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  return dot <= 0 ? null : (LANGUAGES[name.slice(dot + 1).toLowerCase()] ?? null);
}

/** Sorts the skill's files into scripts and resources; `own` are those that the dialect reads itself. */
export function sortFiles(
  folder: Folder,
  own: ReadonlySet<string>,
  findings: Findings,
): { scripts: Script[]; resources: Resource[] } {
  const scripts: Script[] = [];
  const resources: Resource[] = [];
  for (const file of folder.files) {
    if (own.has(file.path)) continue;
    const language = file.path.startsWith('scripts/') ? languageOf(file.path) : null;
    if (language !== null) {
      scripts.push({ path: file.path, language, size: file.size });
      continue;
    }
    resources.push({ path: file.path, size: file.size, kind: kindOf(file.path) });
    const place = { file: file.path, line: 1, column: 1 };
    if (file.path.startsWith('scripts/') && (file.executable || OTHER_SCRIPTS.has(extensionOf(file.path)))) {
      findings.report('script-unsupported', place, `no runtime is known for ${file.path}`);
    }
    if (/\/skill\.md$/i.test(file.path))
      findings.report('nested-skill', place, `${file.path} is a skill inside this skill`);
  }
  return { scripts, resources };
}

function kindOf(path: string): Resource['kind'] {
  if (path.startsWith('references/')) return 'reference';
  if (path.startsWith('assets/')) return 'asset';
  return path.startsWith('examples/') ? 'example' : 'other';
}

function extensionOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1).toLowerCase();
}
