import type { Setting } from './setting.ts';
import { LOCAL_SETTINGS } from './settings-local.ts';
import { RUN_SETTINGS, SERVER_SETTINGS } from './settings-server.ts';
import { STORE_SETTINGS } from './settings-store.ts';

/** Every setting by its name. The file has the same names, nested. */
export const SETTINGS = { ...LOCAL_SETTINGS, ...SERVER_SETTINGS, ...RUN_SETTINGS, ...STORE_SETTINGS };

export type SettingName = keyof typeof SETTINGS;
export type Values = { [Name in SettingName]: (typeof SETTINGS)[Name] extends Setting<infer T> ? T : never };

export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

/** The table as whoever goes through all of it sees it. */
export function settingOf(name: SettingName): Setting<unknown> {
  return SETTINGS[name] as Setting<unknown>;
}

/** `server.publicUrl` is SKILLBOX_SERVER_PUBLIC_URL, unless the table has an older name. */
export function variableOf(name: SettingName): string {
  const made = name.replace(/[A-Z]/g, letter => `_${letter}`).replaceAll('.', '_');
  return settingOf(name).variable ?? `SKILLBOX_${made.toUpperCase()}`;
}

/** A secret may stand in a file of its own: the variable with _FILE, the key with File. */
export function isSecret(name: SettingName): boolean {
  return settingOf(name).form.kind === 'secret';
}

/** What must not be handed on to anything that we start. */
export const SECRET_VARIABLES: ReadonlySet<string> = new Set(SETTING_NAMES.filter(isSecret).map(variableOf));

/** Variables that are no settings: where settings are found, and who is asking. */
export const OTHER_VARIABLES = {
  SKILLBOX_CONFIG: 'The configuration file to read instead of the usual one; an absolute path.',
  SKILLBOX_CONFIG_DIR:
    "The directory with the user's own config.yaml and policy.yaml, instead of `$XDG_CONFIG_HOME/skillbox`.",
  SKILLBOX_AGENT: 'Set by an agent that drives a shell, so that it is not taken for a person (docs/approvals.md).',
} as const;
