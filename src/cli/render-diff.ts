import { type JsonValue, renderSize, visible, visibleLine } from '../base/index.ts';
import type { FieldChange, FileChange, Hunk } from '../skill/index.ts';
import type { Paint } from './io.ts';

/** What differs between two skills, for people; every word of theirs is made visible. */

export function renderField({ field, change, before, after }: FieldChange, paint: Paint): string {
  const name = `  ${visibleLine(field, 80)}`;
  if (field === 'instructions') return `${name}  ${paint('dim', 'changed; the text is below')}\n`;
  const lines = [`${name}\n`];
  if (change !== 'added') lines.push(`    ${paint('red', `- ${renderValue(before)}`)}\n`);
  if (change !== 'removed') lines.push(`    ${paint('green', `+ ${renderValue(after)}`)}\n`);
  return lines.join('');
}

function renderValue(value: JsonValue): string {
  return visibleLine(typeof value === 'string' ? value : JSON.stringify(value), 160);
}

export function renderFile({ path, change, before, after, content }: FileChange, paint: Paint): string {
  const shown = visibleLine(path, 120);
  const lines = [`${paint('bold', `${change === 'mode' ? 'changed' : change} ${shown}`)}\n`];
  if (before !== null && after !== null && before.executable !== after.executable) {
    lines.push(`  ${after.executable ? 'now executable' : 'no longer executable'}\n`);
  } else if (before === null && after?.executable === true) lines.push('  executable\n');
  if (content.kind === 'binary' || content.kind === 'large') {
    const states = [before, after].map(state =>
      state === null ? 'none' : `${renderSize(state.size)} sha256:${state.digest.slice(0, 16)}`,
    );
    lines.push(
      `  ${content.kind === 'binary' ? 'not text' : 'too large to compare line by line'}: ${states.join(' → ')}\n`,
    );
  }
  if (content.kind === 'text') {
    const place = shown.startsWith('/') ? shown : `/${shown}`;
    lines.push(paint('red', `--- ${before === null ? '/dev/null' : `a${place}`}`), '\n');
    lines.push(paint('green', `+++ ${after === null ? '/dev/null' : `b${place}`}`), '\n');
    for (const hunk of content.hunks) lines.push(renderHunk(hunk, paint));
  }
  return lines.join('');
}

const MARKS = { same: ' ', removed: '-', added: '+' } as const;
const MAX_LINE = 1000;

function renderHunk({ oldStart, oldLines, newStart, newLines, lines }: Hunk, paint: Paint): string {
  const out = [`${paint('cyan', `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`)}\n`];
  for (const { kind, text, ended } of lines) {
    const cut = text.length > MAX_LINE ? `${text.slice(0, MAX_LINE)}…` : text;
    const line = `${MARKS[kind]}${visible(cut)}`;
    out.push(`${kind === 'same' ? line : paint(kind === 'added' ? 'green' : 'red', line)}\n`);
    if (!ended) out.push(`${paint('dim', '\\ No newline at end of file')}\n`);
  }
  return out.join('');
}
