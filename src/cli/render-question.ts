import type { Question } from '../app.ts';
import { renderDuration, renderSize, visible, visibleLine } from '../base/index.ts';
import type { Paint } from './io.ts';
import { renderField, renderFile } from './render-diff.ts';
import { pieces, wrap } from './wrap.ts';

/**
 * What a person is asked, for a terminal. A skill wrote much of it, so every word of it is made visible, put on one line and
 * wrapped behind a margin that it cannot leave: no description can look like a row of ours.
 */

const MARGIN = 12;
const MIN_WIDTH = 40;
const MAX_WIDTH = 110;
const MAX_DESCRIPTION = 600;
const MAX_WORDS = 60;
const MAX_WORD = 300;
const MAX_ROWS = 12;
const MAX_DIFF_LINES = 60;

export function renderQuestion(
  question: Question,
  columns: number,
  paint: Paint,
  maxDiffLines: number = MAX_DIFF_LINES,
): string {
  const width = Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, columns)) - 1;
  const { banner, problem } = question;
  return [
    ...(banner ? renderBanner(width, paint) : []),
    ...(problem === null ? [] : renderProblem(problem, width, paint)),
    ...renderTitle(question, width, paint),
    ...rowsOf(question).flatMap(([name, text]) => renderRow(name, text, width, paint)),
    ...renderChange(question, width, maxDiffLines, paint),
    '',
  ].join('\n');
}

function renderTitle({ skill, target }: Question, width: number, paint: Paint): string[] {
  const version = skill.version === null ? '' : ` ${visibleLine(skill.version, 40)}`;
  const title = `${visibleLine(skill.name, 80)}${version} wants to run ${visibleLine(target.name, 80)}`;
  // What goes on below the first line stands deeper than any row of ours begins.
  return wrap(title, width - MARGIN).map((line, at) => paint('bold', at === 0 ? line : `${' '.repeat(MARGIN)}${line}`));
}

function renderBanner(width: number, paint: Paint): string[] {
  const text = 'Nobody vouches for where this skill comes from. Allow it only if you know what it does.';
  const rule = '!'.repeat(Math.min(width, 78));
  return [rule, ...wrap(`UNTRUSTED. ${text}`, width - 4).map(line => `!!  ${line}`), rule, ''].map(line =>
    paint('red', line),
  );
}

function renderProblem(problem: string, width: number, paint: Paint): string[] {
  const text = `The record of your earlier answers cannot be relied on: ${visibleLine(problem, 300)}. Everything is asked. skillbox approve reset begins anew.`;
  return [...wrap(text, width - 4).map(line => paint('yellow', `!   ${line}`)), ''];
}

/** Words of the skill and its caller are cut where they would push the rest off the screen, and it is said. */
function rowsOf({ skill, trust, reasons, preview, target, warnings }: Question): [string, string][] {
  const rows: [string, string][] = [
    ['about', cut(visibleLine(skill.description, MAX_DESCRIPTION + 1), MAX_DESCRIPTION)],
    ['format', skill.dialect],
    ['from', `${visibleLine(skill.place, 500)} (${trust})`],
    ['content', skill.digest],
    ...sentences('why', reasons),
    ...sentences('note', warnings),
  ];
  if (preview.template !== null) rows.push([target.kind, visibleLine(preview.template, 500)]);
  rows.push(
    ['command', renderArgv(preview.argv)],
    ['in', visibleLine(preview.cwd, 300)],
    ['input', `${renderSize(preview.inputBytes)}: ${cut(visibleLine(preview.input, 301), 300)}`],
    ...mountRows(preview),
    ['variables', cut(visibleLine(preview.env.join(', '), 801), 800)],
    ['network', renderNetwork(preview.network)],
    ['limits', renderLimits(preview.limits)],
    ['runtime', renderRuntime(preview)],
    ...preview.dependencies.map(({ manager, lock }): [string, string] => [
      'packages',
      lock === null ? `${manager}: not resolved yet; they are built first` : `${manager}: ${lock.slice(0, 16)}`,
    ]),
  );
  return rows;
}

function sentences(name: string, all: readonly string[]): [string, string][] {
  const rows = all.slice(0, MAX_ROWS).map((text): [string, string] => [name, cut(visibleLine(text, 501), 500)]);
  const more = all.length - rows.length;
  return more > 0 ? [...rows, [name, `… and ${more} more (--dry-run --json shows all)`]] : rows;
}

function renderArgv(argv: readonly string[]): string {
  const words = argv.slice(0, MAX_WORDS).map(word => cut(visible(JSON.stringify(word)), MAX_WORD));
  const more = argv.length - words.length;
  return more > 0 ? `${words.join(' ')} … and ${more} words more (--dry-run --json shows all)` : words.join(' ');
}

/** What is of the host and not the skill itself; a run's own empty places say nothing. */
function mountRows({ mounts }: Question['preview']): [string, string][] {
  const shown = mounts.filter(({ source, kind }) => source !== null && kind !== 'skill');
  const rows = shown
    .slice(0, MAX_ROWS)
    .map(({ at, source, writable }): [string, string] => [
      writable ? 'writes' : 'reads',
      `${visibleLine(source ?? '', 300)} as ${visibleLine(at, 200)}`,
    ]);
  if (shown.length > rows.length) rows.push(['reads', `… and ${shown.length - rows.length} more`]);
  return rows;
}

function renderNetwork(network: string): string {
  return network === 'none' ? 'none' : visibleLine(network, 500);
}

function renderLimits({
  timeMs = 0,
  memoryBytes = 0,
  cpus = 0,
  pids = 0,
  diskBytes = 0,
}: Record<string, number>): string {
  return `${renderDuration(timeMs)}, ${renderSize(memoryBytes)} of memory, ${cpus} cpu, ${pids} processes, ${renderSize(diskBytes)} of disk`;
}

function renderRuntime({ runtime, image }: Question['preview']): string {
  return image === null ? 'of this machine' : `image ${visibleLine(runtime, 120)} sha256:${image.slice(0, 16)}`;
}

function renderRow(name: string, text: string, width: number, paint: Paint): string[] {
  // Once more for all rows, so that none can be forgotten: what is visible already stays as it is.
  const [first = '', ...rest] = wrap(visible(text).replace(/[\n\t]/g, ' '), width - MARGIN);
  return [`  ${paint('dim', name.padEnd(MARGIN - 2))}${first}`, ...rest.map(line => `${' '.repeat(MARGIN)}${line}`)];
}

function renderChange({ change }: Question, width: number, maxLines: number, paint: Paint): string[] {
  if (change === null) return [];
  const when = new Date(change.approvedAt).toISOString().slice(0, 10);
  const title = paint('yellow', `It has changed since you approved it on ${when}:`);
  if (change.diff === null) return ['', title, `  | What was approved (${change.digest}) is not kept any more.`];
  const { fields, files } = change.diff;
  // Painted afterwards: a colour that is cut in two, or loses its end, would paint what is ours.
  const text = [...fields.map(field => renderField(field, bare)), ...files.map(file => renderFile(file, bare))].join(
    '',
  );
  const lines = text.split('\n').filter(line => line !== '');
  const kept = lines.slice(0, maxLines);
  const more = lines.length - kept.length;
  // Broken by us and not by the terminal: what goes on at its edge could look like a row of ours.
  const shown = kept.flatMap(line => {
    const style = DIFF_STYLES.find(([start]) => start.test(line))?.[1];
    return pieces(cutTo(line.replaceAll('\t', '    '), width * 2), width - 4).map(
      part => `  | ${style === undefined ? part : paint(style, part)}`,
    );
  });
  return ['', title, ...shown, ...(more > 0 ? [`  | … and ${more} lines more (skillbox skill diff shows all)`] : [])];
}

const bare: Paint = (_style, text) => text;
const DIFF_STYLES: readonly [RegExp, Parameters<Paint>[0]][] = [
  [/^ {0,4}\+/, 'green'],
  [/^ {0,4}-/, 'red'],
  [/^@@/, 'cyan'],
];

function cut(text: string, max: number): string {
  const points = Array.from(text);
  return points.length > max ? `${points.slice(0, max).join('')}… (cut)` : text;
}

function cutTo(line: string, max: number): string {
  return line.length > max ? `${line.slice(0, max)}…` : line;
}
