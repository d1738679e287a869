import { resolve } from 'node:path';
import { EXIT, visible, visibleLine } from '../../base/index.ts';
import {
  type Config,
  examineConfig,
  type Fault,
  findUnknownVariables,
  findUnreadable,
  type Origin,
  type Role,
  readNamed,
  renderPlace,
  renderValue,
  SETTING_NAMES,
  valueForJson,
} from '../../config/index.ts';
import { type Command, columns, type Input, type Option } from '../command.ts';
import type { Io } from '../io.ts';

const JSON_OPTION: Option = { help: 'print one JSON document' };
const FOR_OPTION: Option = {
  help: 'for whom: a server has other usual values, and reads /etc/skillbox/config.yaml as well',
  value: 'WHOM',
  choices: ['command', 'server'],
};

export const configCheck: Command = {
  name: 'config check',
  summary: 'Check the configuration: a file, or all that holds here. Every fault is told at once.',
  args: [{ name: 'FILE', help: 'a configuration file, instead of what holds here', required: false, many: false }],
  options: { for: FOR_OPTION, json: JSON_OPTION },
  examples: ['skillbox config check /etc/skillbox/config.yaml', 'skillbox config check --for server'],
  run: async (input, io) => {
    const { config, faults, unknown } = examine(input, io);
    if (input.flag('json')) {
      const { file } = config;
      io.out(`${JSON.stringify({ ok: faults.length === 0, file, faults, unknownVariables: unknown }, null, 2)}\n`);
    } else {
      io.out(faults.length === 0 ? `valid (${config.file ?? 'no file'})\n` : '');
      for (const fault of faults) io.out(renderFault(fault, io));
      for (const { variable, meant } of unknown) {
        const more = meant === null ? '' : `; did you mean ${meant}?`;
        io.err(`${io.paint('yellow', 'note')}: nothing reads ${visibleLine(variable)}${more}\n`);
      }
    }
    return faults.length === 0 ? EXIT.ok : EXIT.usage;
  },
};

/** A file alone is looked at without this shell's variables: it is for elsewhere. */
function examine(input: Input, io: Io): Checked {
  const role = roleOf(input);
  const given = input.args[0];
  if (given === undefined) {
    const { config, faults } = examineConfig({ env: io.env, role });
    return { config, faults: withUnreadable(config, faults), unknown: findUnknownVariables(io.env) };
  }
  const path = resolve(io.cwd, given);
  const read = (found: Fault[]) => readNamed(path, found, { from: 'file', file: path, line: 1, column: 1 });
  const { config, faults } = examineConfig(
    { env: { HOME: io.env.HOME }, role: input.value('for') === null ? 'server' : role },
    read,
  );
  return { config, faults: withUnreadable(config, faults), unknown: [] };
}

type Checked = { config: Config; faults: Fault[]; unknown: { variable: string; meant: string | null }[] };

function withUnreadable(config: Config, faults: Fault[]): Fault[] {
  return [...faults, ...findUnreadable(config)];
}

function roleOf(input: Input): Role {
  return input.value('for') === 'server' ? 'server' : 'command';
}

function renderFault({ place, message, hint }: Fault, io: Io): string {
  const where = visibleLine(renderPlace(place));
  return `${where} ${io.paint('red', visible(message))}\n    ${io.paint('dim', 'hint:')} ${visible(hint)}\n`;
}

export const configShow: Command = {
  name: 'config show',
  summary: 'Show every setting, its value and where it comes from. Secrets are not shown.',
  args: [],
  options: { for: FOR_OPTION, json: JSON_OPTION },
  examples: ['skillbox config show --for server'],
  run: async (input, io) => {
    const { config, faults } = examineConfig({ env: io.env, role: roleOf(input) });
    if (input.flag('json')) io.out(`${JSON.stringify(toJson(config, faults), null, 2)}\n`);
    else {
      io.out(renderAll(config, io));
      for (const fault of faults) io.err(renderFault(fault, io));
    }
    return faults.length === 0 ? EXIT.ok : EXIT.usage;
  },
};

function toJson(config: Config, faults: readonly Fault[]) {
  const settings = SETTING_NAMES.map(name => [
    name,
    { value: valueForJson(config, name), origin: config.origin(name) },
  ]);
  return { ok: faults.length === 0, file: config.file, settings: Object.fromEntries(settings), faults };
}

function renderAll(config: Config, io: Io): string {
  const lines = columns(SETTING_NAMES.map(name => [name, renderValue(config, name)]));
  const shown = lines.map((line, index) => {
    const origin = config.origin(SETTING_NAMES[index] ?? 'data.directory');
    const text = visible(line);
    return origin.from === 'default' ? io.paint('dim', text) : `${text}  (${visibleLine(renderOrigin(origin))})`;
  });
  return `${[config.file === null ? 'no configuration file' : visible(config.file), ...shown].join('\n')}\n`;
}

function renderOrigin(origin: Origin): string {
  return origin.from === 'default' ? 'default' : renderPlace(origin);
}
