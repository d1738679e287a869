// The tables of docs/configuration.md, made of the table of settings itself.
import {
  isSecret,
  loadConfig,
  OTHER_VARIABLES,
  type Role,
  renderValue,
  SETTING_NAMES,
  type SettingName,
  settingOf,
  variableOf,
} from '../src/config/index.ts';

const GROUPS: Record<string, string> = {
  data: 'This machine',
  skills: 'Skills',
  images: 'Images',
  sandbox: 'The sandbox',
  dependencies: 'Dependencies of skills',
  warm: 'Sandboxes held ready',
  secrets: 'Secrets',
  broker: 'The broker',
  mcp: 'MCP',
  install: 'Installing skills',
  client: 'Commands that talk to a server',
  server: 'The server',
  oidc: 'Tokens of an identity provider',
  quotas: 'What a tenant gets',
  runs: 'Runs of a server',
  retention: 'How long things are kept',
  store: 'PostgreSQL and S3',
};

/** As on a machine where nobody said anything; a home that is nobody's, so that nobody's file is read. */
const usual = (role: Role) => loadConfig({ env: { HOME: '/nonexistent' }, role });
const [COMMAND, SERVER] = [usual('command'), usual('server')];

export function settingsTable(): string {
  const groups = [...new Set(SETTING_NAMES.map(groupOf))];
  return groups.map(group => `### ${GROUPS[group] ?? missing(group)}\n\n${tableOf(group)}`).join('\n\n');
}

function groupOf(name: string): string {
  return name.split('.')[0] ?? name;
}

function missing(group: string): never {
  throw new Error(`scripts/config-tables.ts has no heading for ${group}`);
}

function tableOf(group: string): string {
  const rows = SETTING_NAMES.filter(name => groupOf(name) === group).map(rowOf);
  return ['| setting | meaning | value | usually | variable, flag |', '| --- | --- | --- | --- | --- |', ...rows].join(
    '\n',
  );
}

function rowOf(name: SettingName): string {
  const { help, form, flag } = settingOf(name);
  const what = form.kind === 'secret' ? 'secret' : `${form.kind === 'list' ? 'list; each ' : ''}${form.of.what}`;
  const variables = [variableOf(name), ...(isSecret(name) ? [`${variableOf(name)}_FILE`] : [])];
  const ways = [...variables, ...(flag === null ? [] : [`--${flag}`])].map(way => `\`${way}\``).join(', ');
  return `| \`${name}\` | ${help} | ${what} | ${usually(name)} | ${ways} |`;
}

function usually(name: SettingName): string {
  const text = settingOf(name).fallbackText;
  if (text !== null) return text;
  const [command, server] = [renderValue(COMMAND, name), renderValue(SERVER, name)];
  if (command === 'none') return 'none';
  return command === server ? `\`${command}\`` : `\`${command}\`; for a server \`${server}\``;
}

export function variablesTable(): string {
  const rows = Object.entries(OTHER_VARIABLES).map(([variable, help]) => `| \`${variable}\` | ${help} |`);
  return ['| variable | meaning |', '| --- | --- |', ...rows].join('\n');
}
