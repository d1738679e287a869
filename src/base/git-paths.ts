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
/** Each is looked for on the disk. */
const MAX_WORDS = 2000;

/** Of a command only what is there already is known for a file; what comes to stand where the others point is obeyed too. */
export type GitWord = { word: string; kind: 'hooks' | 'config' | 'command' };

/**
 * Words of a git config that may name a file or folder of the project whose text git executes, or reads as another config. Read
 * more widely than git would: what names nothing there is nothing to look at. null: they are too many to look for.
 */
export function wordsObeyedByGit(config: string): GitWord[] | null {
  const words: GitWord[] = [];
  const commands: string[] = [];
  let section = '';
  for (const line of config.split('\n')) {
    let rest = line.trim();
    // A section and its first key may share a line.
    if (rest.startsWith('[')) {
      const end = rest.indexOf(']');
      section = (rest.slice(1, end).trim().split(/[\s"]/, 1)[0] ?? '').toLowerCase();
      rest = end === -1 ? '' : rest.slice(end + 1);
    }
    const at = rest.indexOf('=');
    if (at === -1) continue;
    const [key, value] = [rest.slice(0, at).trim(), rest.slice(at + 1).trim()];
    const name = key.toLowerCase();
    const isConfig = name === 'path' && section.startsWith('include');
    if (!isConfig && name !== 'hookspath' && !COMMANDS.has(name) && section !== 'alias') continue;
    const plain = value.replace(/^"(.*)"$/, '$1').replace(/\\(.)/g, '$1');
    if (isConfig) words.push({ word: plain, kind: 'config' });
    else if (name === 'hookspath') words.push({ word: plain, kind: 'hooks' });
    else for (const word of plain.split(/[\s"';|&]+/)) commands.push(word.replace(/^!/, ''));
  }
  for (const word of new Set(commands)) words.push({ word, kind: 'command' });
  return words.length > MAX_WORDS ? null : words.filter(({ word }) => word !== '');
}
