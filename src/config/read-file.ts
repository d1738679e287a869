import { join } from 'node:path';
import { parseYaml, readGuarded, suggest, type YamlEntry, type YamlNode } from '../base/index.ts';
import { xdgDirectory } from './directories.ts';
import { type Fault, invalid, type Place, quoted } from './fault.ts';
import { absolutePath } from './kinds.ts';
import type { Role } from './setting.ts';
import { isSecret, SETTING_NAMES, type SettingName } from './settings.ts';

/** What the file says about one setting; `inFile` for the path of a secret's own file. */
export type FileValue = { name: SettingName; inFile: boolean; node: YamlNode; place: Place };
export type ConfigFile = { path: string; values: FileValue[] };

const MAX_BYTES = 256 * 1024;
const SYSTEM_FILE = '/etc/skillbox/config.yaml';
const EVERYBODY_READS = 0o004;

/** Where the user writes what Skillbox is to hold to; null for one without a home. */
export function configDirectory(env: NodeJS.ProcessEnv): string | null {
  const faults: Fault[] = [];
  const directory = ownDirectory(env, faults);
  if (faults.length > 0) throw invalid(faults);
  return directory;
}

function ownDirectory(env: NodeJS.ProcessEnv, faults: Fault[]): string | null {
  const given = env.SKILLBOX_CONFIG_DIR ?? '';
  if (given !== '' && absolutePath.parse(given) === undefined) faults.push(relative('SKILLBOX_CONFIG_DIR', given));
  return given === '' ? xdgDirectory(env, 'XDG_CONFIG_HOME', '.config') : given;
}

/** The first of the places that has a file. Null: none of them has. The one that was named must be there. */
export function readConfigFile(env: NodeJS.ProcessEnv, role: Role, faults: Fault[]): ConfigFile | null {
  const named = env.SKILLBOX_CONFIG ?? '';
  if (named !== '') {
    if (absolutePath.parse(named) === undefined) faults.push(relative('SKILLBOX_CONFIG', named));
    else return readNamed(named, faults, { from: 'environment', variable: 'SKILLBOX_CONFIG' });
    return null;
  }
  const directory = ownDirectory(env, faults);
  const own = directory === null ? null : readAt(join(directory, 'config.yaml'), faults);
  return own ?? (role === 'server' ? readAt(SYSTEM_FILE, faults) : null);
}

export function readNamed(path: string, faults: Fault[], by: Place): ConfigFile | null {
  const file = readAt(path, faults);
  if (file === null)
    faults.push({
      place: by,
      message: `names ${quoted(path)}, which is not there`,
      hint: 'Name a file that is there.',
    });
  return file;
}

function relative(variable: string, given: string): Fault {
  const message = `is ${quoted(given)}, which is not an absolute path`;
  return { place: { from: 'environment', variable }, message, hint: 'Write the whole path.' };
}

/** The YAML library is loaded only when there is a file. */
function readAt(path: string, faults: Fault[]): ConfigFile | null {
  // What stands in it decides about power, so nobody else may have written it.
  const found = readGuarded(path, { maxBytes: MAX_BYTES, mine: true, links: true });
  if (found === null) return null;
  const at = placer(path, 'text' in found ? found.text : '');
  if ('fault' in found) {
    faults.push({ place: at(0), message: `cannot be used: ${found.fault}`, hint: 'Make it yours alone: chmod 600.' });
    return { path, values: [] };
  }
  const { node, problems } = parseYaml(found.text, 0);
  const hint = 'docs/configuration.md shows its form.';
  for (const problem of problems) faults.push({ place: at(problem.at), message: `is wrong: ${problem.message}`, hint });
  if (node === null || problems.length > 0) return { path, values: [] };
  const values = node.kind === 'scalar' && node.value === null ? [] : readKeys(node, '', at, faults);
  const open = values.find(({ name, inFile }) => isSecret(name) && !inFile);
  if (open !== undefined && (found.mode & EVERYBODY_READS) !== 0) {
    const message = `holds the secret ${open.name} in a file that everybody can read`;
    faults.push({ place: open.place, message, hint: `chmod 600, or write ${open.name}File with the path of a file.` });
  }
  return { path, values };
}

function placer(file: string, text: string): (at: number) => Place {
  return at => {
    const before = text.slice(0, at);
    return { from: 'file', file, line: before.split('\n').length, column: at - before.lastIndexOf('\n') };
  };
}

/** Every key that may stand in the file, groups included. */
const KEYS = new Map<string, { name: SettingName; inFile: boolean } | 'group'>();
for (const name of SETTING_NAMES) {
  const parts = name.split('.');
  for (let depth = 1; depth < parts.length; depth++) KEYS.set(parts.slice(0, depth).join('.'), 'group');
  KEYS.set(name, { name, inFile: false });
  if (isSecret(name)) KEYS.set(`${name}File`, { name, inFile: true });
}

function readKeys(node: YamlNode, prefix: string, at: (offset: number) => Place, faults: Fault[]): FileValue[] {
  if (node.kind !== 'map') {
    const what = prefix === '' ? 'the file' : prefix.slice(0, -1);
    faults.push({
      place: at(node.at),
      message: `is wrong: ${what} is not a mapping`,
      hint: `Its keys are ${below(prefix)}.`,
    });
    return [];
  }
  return node.entries.flatMap(entry => readEntry(entry, prefix, at, faults));
}

function readEntry(entry: YamlEntry, prefix: string, at: (offset: number) => Place, faults: Fault[]): FileValue[] {
  const key = `${prefix}${entry.key}`;
  const known = KEYS.get(key);
  if (known === 'group') return readKeys(entry.node, `${key}.`, at, faults);
  if (known !== undefined) return [{ ...known, node: entry.node, place: at(entry.node.at) }];
  const meant = suggest(key, KEYS.keys()) ?? suggest(entry.key, SETTING_NAMES);
  const hint = meant === null ? `The keys here are ${below(prefix)}.` : `Did you mean ${meant}?`;
  faults.push({ place: at(entry.keyAt), message: `is wrong: there is no setting ${quoted(key)}`, hint });
  return [];
}

function below(prefix: string): string {
  const names = [...KEYS.keys()].filter(key => key.startsWith(prefix) && !key.slice(prefix.length).includes('.'));
  return names.map(key => key.slice(prefix.length)).join(', ');
}
