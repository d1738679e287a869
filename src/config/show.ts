import { suggest } from '../base/index.ts';
import type { Fault } from './fault.ts';
import type { Config } from './load.ts';
import { isSecret, OTHER_VARIABLES, SETTING_NAMES, type SettingName, settingOf, variableOf } from './settings.ts';

/** A value as one would write it, and never a secret: of those only where they are. */
export function renderValue(config: Config, name: SettingName): string {
  const { form, fallbackText } = settingOf(name);
  const value: unknown = config.get(name);
  if (form.kind === 'secret') return renderSecret(config, name);
  if (Array.isArray(value)) return value.map(item => form.of.render(item)).join(', ') || 'none';
  if (value === null && config.origin(name).from === 'default') return fallbackText?.replaceAll('`', '') ?? 'none';
  return form.of.render(value);
}

function renderSecret(config: Config, name: SettingName): string {
  const value = config.get(name as 'client.key');
  if (value === null) return 'none';
  return value.source.kind === 'file' ? `(hidden, in ${value.source.path})` : '(hidden)';
}

/** The same for machines. */
export function valueForJson(config: Config, name: SettingName): unknown {
  if (!isSecret(name)) return config.get(name);
  const source = config.get(name as 'client.key')?.source ?? null;
  return source === null ? null : { hidden: true, file: source.kind === 'file' ? source.path : null };
}

/** Secrets in files are read when they are needed; whoever checks wants to know now. */
export function findUnreadable(config: Config): Fault[] {
  return SETTING_NAMES.filter(isSecret).flatMap(name => {
    const origin = config.origin(name);
    try {
      config.get(name as 'client.key')?.read();
      return [];
    } catch (error) {
      if (origin.from === 'default' || !(error instanceof Error)) throw error;
      return [{ place: origin, message: `cannot be used: ${error.message}`, hint: 'One line, chmod 400.' }];
    }
  });
}

/** Variables that look like ours and are none: nothing reads them. */
export function findUnknownVariables(env: NodeJS.ProcessEnv): { variable: string; meant: string | null }[] {
  const known = new Set([
    ...SETTING_NAMES.flatMap(name => [variableOf(name), ...(isSecret(name) ? [`${variableOf(name)}_FILE`] : [])]),
    ...Object.keys(OTHER_VARIABLES),
  ]);
  return Object.keys(env)
    .filter(variable => variable.startsWith('SKILLBOX_') && !known.has(variable))
    .map(variable => ({ variable, meant: suggest(variable, known) }));
}
