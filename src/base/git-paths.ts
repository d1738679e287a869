/** Keys of a git config that hold a command, or words of one. */
const COMMANDS = new Set([
  'fsmonitor',
  'sshcommand',
  'gitproxy',
  'editor',
  'pager',
  'askpass',
  'attributesfile',
  'clean',
  'smudge',
  'process',
  'command',
  'textconv',
  'cmd',
  'driver',
  'helper',
  'program',
  'uploadpack',
  'receivepack',
]);
const MAX_LINES = 10_000;

/** `isPath`: what comes to stand there is obeyed too; of a command only what is there already is known for a file. */
export type GitWord = { word: string; isPath: boolean };

/**
 * Words of a git config that may name a file or folder of the project whose text git executes, or reads as another config. Read
 * more widely than git would: what names nothing there is nothing to look at.
 */
export function wordsObeyedByGit(config: string): GitWord[] {
  const words: GitWord[] = [];
  let section = '';
  for (const line of config.split('\n', MAX_LINES)) {
    // A section and its first key may share a line.
    const [, head, key = '', value = ''] =
      /^\s*(?:\[\s*([^\s\]]*)[^\]]*\]\s*)?(?:([a-z][a-z0-9-]*)\s*=\s*(.*?)\s*)?$/i.exec(line) ?? [];
    section = head?.toLowerCase() ?? section;
    const name = key.toLowerCase();
    const isPath = name === 'hookspath' || (name === 'path' && section.startsWith('include'));
    if (!isPath && !COMMANDS.has(name) && section !== 'alias') continue;
    const plain = value.replace(/^"(.*)"$/, '$1').replace(/\\(.)/g, '$1');
    if (isPath) words.push({ word: plain, isPath });
    else for (const word of plain.split(/[\s"';|&]+/)) words.push({ word: word.replace(/^!/, ''), isPath });
  }
  return words.filter(({ word }) => word !== '');
}
