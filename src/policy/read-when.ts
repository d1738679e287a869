import type { YamlEntry, YamlNode } from '../base/index.ts';
import { DIALECTS } from '../skill/index.ts';
import { type Glob, MAX_GLOB, toGlob } from './glob.ts';
import { type NetworkGrant, TRUST_LEVELS } from './policy.ts';
import type { Faults } from './read-node.ts';
import { ANYTHING, NETWORK_WORDS, PATH_WORDS, type PathWord, type When } from './rules.ts';

const MAX_ITEMS = 100;
const KEYS = [
  'trust',
  'dialect',
  'skill',
  'target',
  'tool',
  'publisher',
  'network',
  'secrets',
  'workspace',
  'paths',
  'readOnly',
  'alwaysAsk',
  'isolated',
] as const;
type Key = (typeof KEYS)[number];
type Check = { test: (text: string) => boolean; hint: string };

const NAME: Check = { test: text => !text.includes('\0'), hint: 'Write a name, or a pattern with * in it.' };
const SECRET: Check = {
  test: text => /^[^/\s]+\/[^/\s]+$/.test(text),
  hint: 'Write none, any, or patterns such as custom/* and github/issues.*.',
};
const HOST: Check = {
  test: text => /^[a-z0-9*](?:[a-z0-9.*_-]*[a-z0-9*])?(?::\d{1,5})?$/i.test(text) && /[.*:]|^localhost$/i.test(text),
  hint: `Write ${NETWORK_WORDS.join(', ')}, or hosts such as api.example.com and *.example.com.`,
};
const PATH: Check = {
  // With an empty part, also one at the end, it would be the pattern of no path, and what forbids would forbid nothing.
  test: text =>
    text === '/' ||
    (text.startsWith('/') &&
      !text
        .slice(1)
        .split('/')
        .some(part => ['', '.', '..'].includes(part))),
  hint: `Write ${PATH_WORDS.join(', ')}, or absolute paths such as /srv/data/**, with no / at the end.`,
};

export function readWhen(node: YamlNode, faults: Faults): When {
  const fields = faults.fields(node, 'when', KEYS);
  const read = <T>(key: Key, reader: (entry: YamlEntry) => T): T | null => {
    const entry = fields.get(key);
    return entry === undefined ? null : reader(entry);
  };
  const globs = (key: Key, check: Check) => read(key, entry => readGlobs(entry.node, key, check, faults));
  const words = <Word extends string>(key: Key, known: readonly Word[]) =>
    read(key, ({ node: value }) =>
      faults.items(value, key, MAX_ITEMS).flatMap(item => faults.word(item, key, known) ?? []),
    );
  const flag = (key: Key) => read(key, entry => faults.flag(entry.node, key));
  const both = fields.get('tool');
  if (fields.has('target') && both !== undefined) {
    faults.add(both.keyAt, 'tool and target say the same', 'Keep one of them.');
  }
  return {
    ...ANYTHING,
    trust: words('trust', TRUST_LEVELS),
    dialect: words('dialect', DIALECTS),
    skill: globs('skill', NAME),
    target: globs('target', NAME) ?? globs('tool', NAME),
    publisher: globs('publisher', NAME),
    network: read('network', entry => readNetwork(entry.node, faults)),
    secrets: read('secrets', entry => readSecrets(entry.node, faults)),
    workspace: read('workspace', entry => readPaths(entry.node, 'workspace', faults)),
    paths: read('paths', entry => readPaths(entry.node, 'paths', faults)),
    readOnly: flag('readOnly'),
    alwaysAsk: flag('alwaysAsk'),
    isolated: flag('isolated'),
  };
}

function readGlobs(node: YamlNode, what: string, check: Check, faults: Faults): Glob[] {
  return faults.items(node, what, MAX_ITEMS).flatMap(item => {
    const text = faults.text(item, what, MAX_GLOB);
    if (text === null) return [];
    if (check.test(text)) return [toGlob(text)];
    faults.add(item.at, `${what} is "${text}"`, check.hint);
    return [];
  });
}

function wordOf(node: YamlNode): string | null {
  return node.kind === 'scalar' ? node.text : null;
}

function readNetwork(node: YamlNode, faults: Faults): When['network'] {
  const kinds = new Set<NetworkGrant['kind']>();
  const hosts: Glob[] = [];
  for (const item of faults.items(node, 'network', MAX_ITEMS)) {
    const word = NETWORK_WORDS.find(each => each === wordOf(item));
    if (word === 'any') for (const kind of ['broker', 'hosts', 'public'] as const) kinds.add(kind);
    else if (word !== undefined) kinds.add(word);
    else hosts.push(...readGlobs(item, 'network', HOST, faults).map(({ text }) => toGlob(text.toLowerCase())));
  }
  return { kinds: [...kinds], hosts };
}

function readSecrets(node: YamlNode, faults: Faults): When['secrets'] {
  const word = wordOf(node);
  return word === 'none' || word === 'any' ? word : readGlobs(node, 'secrets', SECRET, faults);
}

function readPaths(node: YamlNode, what: string, faults: Faults): PathWord | Glob[] {
  return PATH_WORDS.find(word => word === wordOf(node)) ?? readGlobs(node, what, PATH, faults);
}
