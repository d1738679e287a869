import { type Flags, type SettingName, settingOf } from '../config/index.ts';
import type { Input, Option } from './command.ts';

/** The flags of settings, for a command that takes some: name and help are those of the table. */
export function settingOptions(names: readonly SettingName[]): Record<string, Option> {
  return Object.fromEntries(names.map(name => [flagOf(name), optionOf(name)]));
}

/** What was said by such flags, for `loadConfig`. */
export function settingFlags(names: readonly SettingName[], input: Input): Flags {
  const flags: Flags = {};
  for (const name of names) {
    const flag = flagOf(name);
    const given = isSwitch(name) ? (input.flag(flag) ? 'yes' : null) : input.value(flag);
    if (given !== null) flags[name] = given;
  }
  return flags;
}

function optionOf(name: SettingName): Option {
  const help = settingOf(name).help.replaceAll('`', '').replace(/\.$/, '');
  const text = `${help[0]?.toLowerCase() ?? ''}${help.slice(1)}`;
  if (isSwitch(name)) return { help: text };
  const { form } = settingOf(name);
  const isUrl = form.kind === 'one' && form.of.what.startsWith('a URL');
  return { help: text, value: isUrl ? 'URL' : flagOf(name).toUpperCase() };
}

function isSwitch(name: SettingName): boolean {
  const { form } = settingOf(name);
  return form.kind === 'one' && form.of.what === 'yes or no';
}

function flagOf(name: SettingName): string {
  return settingOf(name).flag ?? name;
}
