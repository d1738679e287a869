/** Folders that hold no skills of their own: history, installed packages, what programs leave behind. */
export const SKIPPED: ReadonlySet<string> = new Set([
  '.git',
  '.hg',
  '.svn',
  'node_modules',
  '__pycache__',
  '.venv',
  'venv',
]);

/** The files that make a folder a skill, in any case. */
export const MARKER = /^(?:skill\.md|skill\.ya?ml|skill\.json)$/i;
