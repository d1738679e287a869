import type { YamlNode } from '../base/index.ts';
import { type Fault, invalid, type Place, quoted, renderPlace } from './fault.ts';
import { type ConfigFile, type FileValue, readConfigFile } from './read-file.ts';
import { makeSecret } from './secret.ts';
import type { Role, Secret, Setting } from './setting.ts';
import { isSecret, SETTING_NAMES, type SettingName, settingOf, type Values, variableOf } from './settings.ts';
import { findContradictions } from './together.ts';

export type Origin = Place | { from: 'default' };

/** What holds: every setting has a value, and a place that it came from. */
export interface Config {
  readonly role: Role;
  /** The file that was read; null when there was none. */
  readonly file: string | null;
  get<Name extends SettingName>(name: Name): Values[Name];
  origin(name: SettingName): Origin;
}

export type Flags = Partial<Record<SettingName, string>>;
export type Surroundings = { env: NodeJS.ProcessEnv; flags?: Flags; role?: Role };

/** Flags before the environment before the file before what is usual. Throws CONFIG_INVALID with every fault. */
export function loadConfig(surroundings: Surroundings): Config {
  const { config, faults } = examineConfig(surroundings);
  if (faults.length > 0) throw invalid(faults);
  return config;
}

/** The same for whoever wants to see the faults. What is at fault has its usual value. */
export function examineConfig(
  { env, flags = {}, role = 'command' }: Surroundings,
  read: (faults: Fault[]) => ConfigFile | null = faults => readConfigFile(env, role, faults),
): { config: Config; faults: Fault[] } {
  const faults: Fault[] = [];
  const file = read(faults);
  const inFile = Map.groupBy(file?.values ?? [], ({ name }) => name);
  const values = new Map<SettingName, { value: unknown; origin: Origin }>();
  for (const name of SETTING_NAMES) {
    const given = gather(name, env, flags, inFile.get(name) ?? [], faults);
    const value = given === null ? undefined : readValue(name, given, faults);
    if (given !== null && value !== undefined) values.set(name, { value, origin: given.place });
  }
  const config: Config = {
    role,
    file: file?.path ?? null,
    // What is usual is asked for where it is used: without a home there is no usual data directory, and not all need one.
    get: <Name extends SettingName>(name: Name) =>
      (values.has(name) ? values.get(name)?.value : settingOf(name).fallback(env, role)) as Values[Name],
    origin: name => values.get(name)?.origin ?? { from: 'default' },
  };
  // With a fault of its own a value is not the operator's, and nothing follows from it.
  if (faults.length === 0) faults.push(...findContradictions(config));
  return { config, faults };
}

/** Texts with their places; `path` when they name the file that holds a secret. */
type Given = { texts: { text: string; place: Place }[]; path: boolean; place: Place };

/** The strongest place that says something. */
function gather(
  name: SettingName,
  env: NodeJS.ProcessEnv,
  flags: Flags,
  inFile: readonly FileValue[],
  faults: Fault[],
): Given | null {
  const setting = settingOf(name);
  const flag = flags[name];
  if (flag !== undefined) return fromText(setting, flag, { from: 'flag', flag: setting.flag ?? name });
  const variable = variableOf(name);
  const given = [
    ...fromEnvironment(setting, variable, env, false),
    ...(isSecret(name) ? fromEnvironment(setting, `${variable}_FILE`, env, true) : []),
  ];
  const all = given.length > 0 ? given : inFile.flatMap(value => fromNode(value, faults));
  const [first, second] = all;
  if (first !== undefined && second !== undefined) {
    const message = `and ${renderPlace(second.place)} both give ${name}`;
    faults.push({ place: first.place, message, hint: 'Set one of them.' });
  }
  return first ?? null;
}

function fromEnvironment(setting: Setting<unknown>, variable: string, env: NodeJS.ProcessEnv, path: boolean): Given[] {
  const text = env[variable];
  if (text === undefined || (text === '' && !setting.emptyCounts)) return [];
  return [{ ...fromText(setting, text, { from: 'environment', variable }), path }];
}

function fromText({ form }: Setting<unknown>, text: string, place: Place): Given {
  const parts = form.kind === 'list' ? text.split(form.separator).filter(part => part !== '') : [text];
  return { texts: parts.map(part => ({ text: part.trim(), place })), path: false, place };
}

function fromNode({ name, inFile, node, place }: FileValue, faults: Fault[]): Given[] {
  const isList = settingOf(name).form.kind === 'list';
  const nodes: readonly YamlNode[] = isList && node.kind === 'list' ? node.items : [node];
  const texts = nodes.flatMap(item =>
    item.kind === 'scalar' && item.value !== null ? [{ text: item.text, place }] : [],
  );
  if (texts.length === nodes.length) return [{ texts, path: inFile, place }];
  const wanted = isList ? 'a list of values' : 'a value';
  faults.push({ place, message: `is wrong: ${name} is not ${wanted}`, hint: `Write ${wanted}, or leave the key out.` });
  return [];
}

/** Undefined when it is at fault. */
function readValue(name: SettingName, { texts, path, place }: Given, faults: Fault[]): unknown {
  const { form } = settingOf(name);
  if (form.kind === 'secret') return readSecret(name, texts[0]?.text ?? '', path, place, faults);
  const values: unknown[] = [];
  for (const { text, place: at } of texts) {
    const value = form.of.parse(text);
    if (value !== undefined) values.push(value);
    else faults.push({ place: at, message: wrong(at, name, text), hint: `It must be ${form.of.what}.` });
  }
  if (values.length < texts.length) return undefined;
  return form.kind === 'list' ? values : values[0];
}

function wrong({ from }: Place, name: SettingName, text: string): string {
  const seen = `${settingOf(name).form.kind === 'list' ? 'holds' : 'is'} ${quoted(text)}`;
  return from === 'file' ? `is wrong: ${name} ${seen}` : seen;
}

function readSecret(name: SettingName, text: string, path: boolean, place: Place, faults: Fault[]): Secret | undefined {
  const made = makeSecret(name, text, path, place);
  if (!('fault' in made)) return made;
  faults.push({ place, ...made.fault });
  return undefined;
}
