/** The commands as a person looks for them: a title, and names or the word that they begin with. */
export const GROUPS: readonly (readonly [title: string, commands: readonly string[]])[] = [
  ['run skills', ['run', 'exec', 'approve']],
  ['install skills', ['add', 'install', 'verify', 'list', 'outdated', 'update', 'remove', 'agents']],
  ['show skills to models', ['catalog', 'activate', 'mcp']],
  ['write skills', ['init', 'lint', 'scan', 'test', 'show', 'package', 'convert', 'diff'].map(word => `skill ${word}`)],
  ['publish skills', ['push', 'list', 'versions', 'download', 'tag', 'yank'].map(word => `skill ${word}`)],
  ['decide and look back', ['policy', 'trust', 'secret', 'provider', 'audit']],
  ['serve a team', ['serve', 'key', 'tenant', 'config']],
  ['look after this machine', ['doctor', 'image', 'gc']],
];

/** Names in the order of the groups; what no group knows comes last, under no title. */
export function groupCommands(names: readonly string[]): { title: string | null; names: string[] }[] {
  const left = new Set(names);
  const groups = GROUPS.map(([title, commands]) => {
    const mine = commands.flatMap(word => names.filter(name => name === word || name.startsWith(`${word} `)));
    for (const name of mine) left.delete(name);
    return { title, names: mine };
  });
  return left.size === 0 ? groups : [...groups, { title: null, names: [...left] }];
}
