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
  'external',
  'difffilter',
  'alternaterefscommand',
  'packobjectshook',
  'recentobjectshook',
  'defaultkeycommand',
  'sendmailcmd',
  'smtpserver',
  'tocmd',
  'cccmd',
  'headercmd',
  'tunnel',
  'templatedir',
]);
/** Every key of these is a name of the user's own, and its value a command. */
const ALL_COMMANDS = new Set(['alias', 'pager']);
/** Where `path` is a program. */
const TOOLS = new Set(['difftool', 'mergetool', 'guitool', 'browser', 'man']);
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
  for (const { section, name, value } of settingsOf(config)) {
    if (name === 'path' && section.startsWith('include')) words.push({ word: value, kind: 'config' });
    else if (name === 'hookspath') words.push({ word: value, kind: 'hooks' });
    else if (isCommand(section, name, value))
      for (const word of value.split(/[\s"';|&]+/)) commands.push(word.replace(/^!/, ''));
  }
  for (const word of new Set(commands)) words.push({ word, kind: 'command' });
  return words.length > MAX_WORDS ? null : words.filter(({ word }) => word !== '');
}

function isCommand(section: string, name: string, value: string): boolean {
  if (COMMANDS.has(name) || ALL_COMMANDS.has(section)) return true;
  return name === 'update' ? value.startsWith('!') : name === 'path' && TOOLS.has(section);
}

type Setting = { section: string; name: string; value: string };

/** A `]` may stand in the quoted part. */
const SECTION = /^\[([^\]"]*)(?:"(?:[^"\\]|\\.)*")?\s*\]?/;

function* settingsOf(config: string): Generator<Setting> {
  const lines = config.split('\n');
  let section = '';
  for (let at = 0; at < lines.length; at++) {
    let rest = (lines[at] ?? '').trim();
    // A section and its first key may share a line.
    const [head, title = ''] = SECTION.exec(rest) ?? [];
    if (head !== undefined) {
      section = (title.trim().split(/\s/, 1)[0] ?? '').toLowerCase();
      rest = rest.slice(head.length).trim();
    }
    const equals = rest.indexOf('=');
    if (equals === -1 || /^[#;]/.test(rest)) continue;
    const { value, end } = readValue(lines, at, rest.slice(equals + 1));
    at = end;
    yield { section, name: rest.slice(0, equals).trim().toLowerCase(), value };
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t' };

/** Without its quotes and a comment behind it, and over several lines where one ends in a backslash; `end` is the last of them. */
function readValue(lines: readonly string[], start: number, first: string): { value: string; end: number } {
  let value = '';
  let quoted = false;
  for (let end = start, line = first; ; line = (lines[++end] ?? '').replace(/\r$/, '')) {
    let goesOn = false;
    for (let at = 0; at < line.length; at++) {
      const letter = line.charAt(at);
      if (letter === '\\') {
        const next = line.charAt(++at);
        goesOn = next === '';
        value += ESCAPES[next] ?? next;
      } else if (letter === '"') quoted = !quoted;
      else if (!quoted && (letter === '#' || letter === ';')) break;
      else value += letter;
    }
    if (!goesOn || end + 1 >= lines.length) return { value: value.trim(), end };
  }
}
