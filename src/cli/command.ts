import { parseArgs } from 'node:util';
import { SkillboxError, suggest } from '../base/index.ts';
import type { Io } from './io.ts';
import { wrap } from './wrap.ts';

/** A command is data: its help, its parsing and its completion all come from this. */
export type Command = {
  name: string;
  summary: string;
  /** Positional arguments, in order; only the last may take many. */
  args: readonly Argument[];
  options: Readonly<Record<string, Option>>;
  examples: readonly string[];
  /** How the words after `--` are called in the help; absent when the command takes none. */
  rest?: string;
  /** Said of a word too many instead of the word itself, where it may be a secret. */
  surplus?: string;
  run(input: Input, io: Io): Promise<number>;
};

export type Argument = { name: string; help: string; required: boolean; many: boolean };
export type Option = {
  help: string;
  /** Absent for a flag; otherwise how the value is called in the help. */
  value?: string;
  short?: string;
  choices?: readonly string[];
  /** May be given several times. */
  many?: boolean;
};

export type Input = {
  args: string[];
  flag(name: string): boolean;
  value(name: string): string | null;
  values(name: string): string[];
  /** The words after `--`. */
  rest: string[];
};

/** Parses the words after the command's name; whatever does not fit is a usage error that says what does. */
export function parseInput(command: Command, words: string[]): Input {
  const options: Record<string, { type: 'string' | 'boolean'; short?: string; multiple?: boolean }> = {};
  for (const [name, { value, short, many }] of Object.entries(command.options)) {
    options[name] = {
      type: value === undefined ? 'boolean' : 'string',
      ...(short === undefined ? {} : { short }),
      ...(many === true ? { multiple: true } : {}),
    };
  }
  const border = words.indexOf('--');
  const own = border === -1 ? words : words.slice(0, border);
  const rest = border === -1 ? [] : words.slice(border + 1);
  if (border !== -1 && command.rest === undefined) own.push(...rest);
  let parsed: { values: Record<string, unknown>; positionals: string[] };
  try {
    parsed = parseArgs({ args: own, options, allowPositionals: true, strict: true });
  } catch (cause) {
    throw new SkillboxError('USAGE', parseMessage(command, words, cause), { hint: hintFor(command), cause });
  }
  const { values, positionals } = parsed;
  checkEmpty(command, values, positionals);
  checkChoices(command, values);
  checkPositionals(command, positionals);
  return {
    args: positionals,
    flag: name => values[name] === true,
    value: name => (typeof values[name] === 'string' ? values[name] : null),
    values: name => (Array.isArray(values[name]) ? values[name].map(String) : []),
    rest,
  };
}

function parseMessage(command: Command, words: string[], cause: unknown): string {
  const wrong = words
    .filter(word => /^--[^-]/.test(word))
    .map(word => word.slice(2).split('=', 1)[0] ?? '')
    .find(name => !Object.hasOwn(command.options, name));
  if (wrong !== undefined) {
    const meant = suggest(wrong, Object.keys(command.options));
    return `"skillbox ${command.name}" has no option --${wrong}${meant === null ? '' : `; did you mean --${meant}?`}`;
  }
  const said = cause instanceof Error ? cause.message : String(cause);
  const name = /^Option '(?:-\w, )?--([\w-]+)/.exec(said)?.[1] ?? '';
  const option = Object.hasOwn(command.options, name) ? command.options[name] : undefined;
  if (option === undefined) return said.split('. ', 1)[0] ?? 'the arguments do not fit';
  if (option.value === undefined) return `--${name} takes no value`;
  const dashed = said.includes('ambiguous') ? `; one that begins with a dash is written --${name}=-…` : '';
  return `--${name} needs a value: ${option.value}${dashed}`;
}

/** Threat: a variable of a shell that is not set. As a path it would mean the current directory, which nobody named: to be trusted, or written to. */
function checkEmpty(command: Command, values: Record<string, unknown>, positionals: readonly string[]): void {
  const options = Object.keys(values).filter(name => [values[name]].flat().includes(''));
  const at = positionals.indexOf('');
  const argument = command.args[Math.min(at, command.args.length - 1)]?.name ?? 'a word';
  const empty = options[0] !== undefined ? `--${options[0]}` : at < 0 ? null : argument;
  if (empty === null) return;
  throw new SkillboxError('USAGE', `${empty} is empty; is a variable not set?`, { hint: hintFor(command) });
}

function checkChoices(command: Command, values: Record<string, unknown>): void {
  for (const [name, option] of Object.entries(command.options)) {
    const value = values[name];
    if (typeof value !== 'string' || option.choices === undefined || option.choices.includes(value)) continue;
    const meant = suggest(value, option.choices);
    const message = `--${name} is ${option.choices.join(', ')}, not "${value}"${meant === null ? '' : `; did you mean ${meant}?`}`;
    throw new SkillboxError('USAGE', message, { hint: hintFor(command) });
  }
}

function checkPositionals(command: Command, positionals: string[]): void {
  const required = command.args.filter(argument => argument.required).length;
  if (positionals.length < required) {
    const missing = command.args[positionals.length];
    throw new SkillboxError('USAGE', `${missing?.name ?? 'an argument'} is missing`, { hint: hintFor(command) });
  }
  if (command.args.at(-1)?.many !== true && positionals.length > command.args.length) {
    const surplus = positionals[command.args.length] ?? '';
    const message = command.surplus ?? `"${surplus}" is one argument too many`;
    throw new SkillboxError('USAGE', message, { hint: hintFor(command) });
  }
}

function hintFor(command: Command): string {
  return `usage: ${renderUsage(command)}`;
}

export function renderUsage(command: Command): string {
  const args = command.args.map(({ name, required, many }) => {
    const shown = many ? `${name}…` : name;
    return required ? shown : `[${shown}]`;
  });
  const options = Object.keys(command.options).length > 0 ? ['[options]'] : [];
  const rest = command.rest === undefined ? [] : [`[-- ${command.rest}]`];
  return ['skillbox', command.name, ...args, ...options, ...rest].join(' ');
}

export function renderHelp(command: Command): string {
  const lines = [command.summary, '', `usage: ${renderUsage(command)}`];
  if (command.args.length > 0) lines.push('', ...helpColumns(command.args.map(({ name, help }) => [name, help])));
  const options = Object.entries(command.options).map(([name, option]): [string, string] => [
    `${option.short === undefined ? '' : `-${option.short}, `}--${name}${option.value === undefined ? '' : ` ${option.value}`}`,
    option.choices === undefined ? option.help : `${option.help}: ${option.choices.join(', ')}`,
  ]);
  lines.push('', ...helpColumns([...options, ['-h, --help', 'show this help']]));
  if (command.examples.length > 0) lines.push('', 'examples:', ...command.examples.map(example => `  ${example}`));
  return `${lines.join('\n')}\n`;
}

const HELP_WIDTH = 120;

/** As `columns`, with long sentences broken below themselves. */
function helpColumns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.flatMap(([left, right]) =>
    wrap(right, Math.max(40, HELP_WIDTH - width - 4)).map((line, index) =>
      `  ${(index === 0 ? left : '').padEnd(width)}  ${line}`.trimEnd(),
    ),
  );
}

export function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd());
}
