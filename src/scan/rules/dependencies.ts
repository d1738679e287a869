import { type Index, imitates } from '../popular.ts';
import type { Hit, PlacedHit, Rule, ScannedFile } from '../rule.ts';
import { fence } from '../rule.ts';
import { nameOf } from '../spans-of.ts';

type Dependency = { name: string; line: number; column: number; text: string; index: Index };

const REQUIREMENT = /^\s{0,8}([A-Za-z0-9][A-Za-z0-9._-]{0,80})/;
const PACKAGE_FIELDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];

function dependenciesOf(file: ScannedFile): Dependency[] {
  const name = nameOf(file.entry.path);
  if (name === 'package.json')
    return packageDependencies(file.text).map(({ name: dependency, text }) => ({
      ...placeOf(file.text, dependency),
      name: dependency,
      text,
      index: 'npm' as const,
    }));
  if (!name.startsWith('requirements')) return [];
  return file.text.split('\n').flatMap((line, at) => {
    const match = REQUIREMENT.exec(line.slice(0, 200));
    return match?.[1] === undefined
      ? []
      : [{ name: match[1], line: at + 1, column: 1, text: line.slice(0, 200), index: 'pypi' as const }];
  });
}

function packageDependencies(text: string): { name: string; text: string }[] {
  const parsed = parsePackage(text);
  return PACKAGE_FIELDS.flatMap(field =>
    Object.entries(asRecord(parsed[field])).map(([name, value]) => ({ name, text: String(value) })),
  );
}

function parsePackage(text: string): Record<string, unknown> {
  try {
    return asRecord(JSON.parse(text));
  } catch {
    return {}; // not JSON: nobody installs from it either
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function placeOf(text: string, word: string): { line: number; column: number } {
  const at = text.indexOf(`"${word}"`);
  if (at === -1) return { line: 1, column: 1 };
  const before = text.slice(0, at);
  return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') };
}

function squatsIn(file: ScannedFile): PlacedHit[] {
  if (file.kind !== 'manifest') return [];
  return dependenciesOf(file).flatMap(({ name, line, column, index }) => {
    const like = imitates(name, index);
    return like === null
      ? []
      : [
          {
            file: file.entry.path,
            line,
            column,
            excerpt: name,
            severity: like.length >= 6 ? ('high' as const) : ('medium' as const),
            note: `"${name}" is nearly "${like}".`,
          },
        ];
  });
}

const INSTALL = /\b(pip3?|uv|pipx|npm|pnpm|yarn|bun)(?: pip)? (?:install|add|i|run --with)\b([^\n;&|#`)]{1,200})/g;

function squatsInCommands(text: string): Hit[] {
  const hits: Hit[] = [];
  for (const match of text.matchAll(INSTALL)) {
    const index: Index = /pip|uv/.test(match[1] ?? '') ? 'pypi' : 'npm';
    for (const word of (match[2] ?? '')
      .trim()
      .split(/\s/)
      .slice(0, match[0].includes('--with') ? 1 : 30)) {
      const name = /^["']?([a-z0-9][\w.-]{2,60})(?:[["'@=<>~!]|$)/i.exec(word)?.[1];
      const like = name === undefined || /\.(?:txt|toml|whl|tgz)$/.test(name) ? null : imitates(name, index);
      if (like !== null)
        hits.push({ at: match.index, length: match[0].length, note: `"${name}" is nearly "${like}".` });
    }
  }
  return hits;
}

function foreignSources(file: ScannedFile): PlacedHit[] {
  if (file.kind !== 'manifest') return [];
  const foreign =
    /git\+|https?:\/\/|^\s{0,4}(?:--(?:extra-)?index-url|-i |--find-links|-f |--trusted-host)|^(?:git|github|file|link|http)/;
  if (nameOf(file.entry.path) === 'package.json') {
    return packageDependencies(file.text)
      .filter(({ text }) => foreign.test(text.slice(0, 200)) || /^[\w-]{1,40}\/[\w.-]{1,80}$/.test(text.slice(0, 130)))
      .map(({ name, text }) => ({
        file: file.entry.path,
        ...placeOf(file.text, name),
        excerpt: `${name}: ${text.slice(0, 100)}`,
      }));
  }
  return file.text.split('\n').flatMap((line, at) => {
    const text = (line.split(' #', 1)[0] ?? '').slice(0, 200);
    return /^\s{0,4}#/.test(text) || !foreign.test(text)
      ? []
      : [{ file: file.entry.path, line: at + 1, column: 1, excerpt: text }];
  });
}

const INSTALL_HOOKS = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'];
const FETCHES = /\b(?:curl|wget|node -e|sh -c|bash|eval|base64|powershell|python3? -c)\b/;

function installScripts(file: ScannedFile): PlacedHit[] {
  if (nameOf(file.entry.path) !== 'package.json') return [];
  const scripts = asRecord(parsePackage(file.text).scripts);
  return INSTALL_HOOKS.flatMap(hook => {
    const command = scripts[hook];
    if (typeof command !== 'string') return [];
    const severity = FETCHES.test(command.slice(0, 2000)) ? ('high' as const) : ('medium' as const);
    return [
      { file: file.entry.path, ...placeOf(file.text, hook), excerpt: `${hook}: ${command.slice(0, 120)}`, severity },
    ];
  });
}

const WITH = (path: string, text: string) => ({ 'SKILL.md': 'x', [path]: text });

export const DEPENDENCY_RULES: Rule[] = [
  {
    id: 'typosquat',
    family: 'dependencies',
    title: 'a package with nearly the name of a popular one',
    why: 'Attackers publish packages one slip away from a known name and wait for it to be mistyped.',
    fix: 'Check the name on the index; correct it, or silence the finding if it is the right one.',
    where: { data: 'high' },
    detector: { kind: 'file', needles: [], find: squatsIn },
    hits: [
      WITH('requirements.txt', 'reqeusts==2.31.0\n'),
      WITH('requirements.txt', 'python_dateutils\n'),
      WITH('package.json', '{"dependencies":{"crossenv":"1"}}'),
      WITH('package.json', '{"dependencies":{"expresss":"^4"}}'),
    ],
    misses: [
      WITH('requirements.txt', 'requests\nPyYAML\npython_dateutil\nour-own-tool\n'),
      WITH('package.json', '{"dependencies":{"preact":"1","cross-env":"7","@types/node":"1"}}'),
    ],
  },
  {
    id: 'typosquat-command',
    family: 'dependencies',
    title: 'an installed package with nearly the name of a popular one',
    why: 'Attackers publish packages one slip away from a known name and wait for it to be mistyped.',
    fix: 'Check the name on the index; correct it, or silence the finding if it is the right one.',
    where: { code: 'high', fence: 'medium', hidden: 'high', prose: 'low', data: 'low' },
    detector: {
      kind: 'span',
      needles: ['install', ' add ', ' i ', '--with'],
      find: ({ text }) => squatsInCommands(text),
    },
    hits: [fence('pip install reqeusts'), fence('npm install lodahs --save')],
    misses: [
      fence('pip install -r requirements.txt requests'),
      fence('npm install lodash axios'),
      fence('pip install "pydantic[email]>=2"'),
    ],
  },
  {
    id: 'foreign-source',
    family: 'dependencies',
    title: 'a dependency that is not from the index',
    why: 'It comes from an address or another index: its owner may change it at any time, and no one else looks at it.',
    fix: 'Name a version of a package on the index. Skillbox builds no layer from such a line.',
    where: { data: 'medium' },
    detector: { kind: 'file', needles: [], find: foreignSources },
    hits: [
      WITH('requirements.txt', '--index-url https://example.invalid/simple\nx\n'),
      WITH('requirements.txt', 'x @ git+https://example.invalid/x\n'),
      WITH('package.json', '{"dependencies":{"x":"https://example.invalid/x.tgz"}}'),
    ],
    misses: [
      WITH('requirements.txt', '# https://example.com\nrequests>=2\n'),
      WITH('package.json', '{"homepage":"https://example.com","dependencies":{"x":"^1.0.0"}}'),
    ],
  },
  {
    id: 'install-script',
    family: 'dependencies',
    title: 'a script that runs at installation',
    why: 'npm runs it as soon as the folder is installed, before anybody used the skill.',
    fix: 'Remove it; make it a step of the instructions.',
    where: { data: 'medium' },
    detector: { kind: 'file', needles: ['install', 'prepare', 'prepublish'], find: installScripts },
    hits: [WITH('package.json', '{"scripts":{"postinstall":"node setup.js"}}')],
    misses: [WITH('package.json', '{"scripts":{"test":"vitest","build":"tsc"}}')],
  },
];
