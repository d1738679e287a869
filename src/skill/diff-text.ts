/** Lines of two texts, compared by Myers' greedy algorithm, with a bound on the work. */

export type DiffLine = {
  kind: 'same' | 'removed' | 'added';
  text: string;
  /** False for a last line that no newline ends. */
  ended: boolean;
};
/** Line numbers count from 1; a side without lines starts at the line before, as in every unified diff. */
export type Hunk = { oldStart: number; oldLines: number; newStart: number; newLines: number; lines: DiffLine[] };
export type TextDiff = {
  hunks: Hunk[];
  /** False when the bound was reached: the hunks are right, but a shorter description may exist. */
  minimal: boolean;
};

/** Steps that are left for all the texts that are compared together. */
export type DiffWork = { left: number };

const CONTEXT = 3;
/** The trace takes the square of this in memory: four megabytes. */
const MAX_EDITS = 1000;

export function diffText(before: string, after: string, work: DiffWork): TextDiff {
  const old = splitLines(before);
  const fresh = splitLines(after);
  const [a, b] = intern(old, fresh);
  const start = commonPrefix(a, b);
  const end = commonSuffix(a, b, start);
  const middle = compareMiddle(a.subarray(start, a.length - end), b.subarray(start, b.length - end), work);
  const steps = middle ?? [...repeat('removed', a.length - end - start), ...repeat('added', b.length - end - start)];
  const script = [...repeat('same', start), ...steps, ...repeat('same', end)];
  return { hunks: toHunks(script, old, fresh), minimal: middle !== null };
}

type Kind = DiffLine['kind'];

function repeat(kind: Kind, count: number): Kind[] {
  return Array.from({ length: count }, () => kind);
}

/** Lines with their newline, so that a missing one at the end is a difference. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** Equal lines get equal numbers: comparing them costs nothing from then on. */
function intern(old: readonly string[], fresh: readonly string[]): [Int32Array, Int32Array] {
  const numbers = new Map<string, number>();
  const number = (line: string) => {
    const known = numbers.get(line) ?? numbers.size;
    numbers.set(line, known);
    return known;
  };
  return [Int32Array.from(old, number), Int32Array.from(fresh, number)];
}

function commonPrefix(a: Int32Array, b: Int32Array): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
}

function commonSuffix(a: Int32Array, b: Int32Array, prefix: number): number {
  const most = Math.min(a.length, b.length) - prefix;
  let length = 0;
  while (length < most && a[a.length - 1 - length] === b[b.length - 1 - length]) length++;
  return length;
}

/** The shortest edit script, or null when finding it would cost more than there is. */
function compareMiddle(a: Int32Array, b: Int32Array, work: DiffWork): Kind[] | null {
  const most = Math.min(a.length + b.length, MAX_EDITS);
  const reach = new Int32Array(2 * most + 3);
  const zero = most + 1;
  const trace: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits++) {
    trace.push(reach.slice(zero - edits - 1, zero + edits + 2));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && at(reach, zero + k - 1) < at(reach, zero + k + 1));
      let x = down ? at(reach, zero + k + 1) : at(reach, zero + k - 1) + 1;
      const from = x;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach[zero + k] = x;
      work.left -= x - from + 1;
      if (x >= a.length && x - k >= b.length) return backtrack(trace, a.length, b.length);
      if (work.left < 0) return null;
    }
  }
  return null;
}

function at(numbers: Int32Array, index: number): number {
  return numbers[index] ?? 0;
}

/** Walks back from the end through what each number of edits had reached before. */
function backtrack(trace: readonly Int32Array[], oldLines: number, newLines: number): Kind[] {
  const script: Kind[] = [];
  let x = oldLines;
  let y = newLines;
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const reach = trace[edits] ?? new Int32Array();
    const zero = edits + 1;
    const k = x - y;
    const down = k === -edits || (k !== edits && at(reach, zero + k - 1) < at(reach, zero + k + 1));
    const beforeX = edits === 0 ? 0 : at(reach, zero + (down ? k + 1 : k - 1));
    const beforeY = edits === 0 ? 0 : beforeX - (down ? k + 1 : k - 1);
    for (; x > beforeX && y > beforeY; x--, y--) script.push('same');
    if (edits > 0) script.push(down ? 'added' : 'removed');
    x = beforeX;
    y = beforeY;
  }
  return script.reverse();
}

/** Changes with the lines around them; where the surroundings touch, they share a hunk. */
function toHunks(script: readonly Kind[], old: readonly string[], fresh: readonly string[]): Hunk[] {
  const ranges: { from: number; to: number }[] = [];
  script.forEach((kind, index) => {
    if (kind === 'same') return;
    const range = { from: Math.max(0, index - CONTEXT), to: Math.min(script.length, index + CONTEXT + 1) };
    const last = ranges.at(-1);
    if (last !== undefined && range.from <= last.to) last.to = range.to;
    else ranges.push(range);
  });
  let index = 0;
  let x = 0;
  let y = 0;
  const advance = (hunk: Hunk | null) => {
    const kind = script[index++] ?? 'same';
    if (hunk !== null) append(hunk, kind, (kind === 'added' ? fresh[y] : old[x]) ?? '');
    if (kind !== 'added') x++;
    if (kind !== 'removed') y++;
  };
  return ranges.map(({ from, to }) => {
    while (index < from) advance(null);
    const hunk: Hunk = { oldStart: x, oldLines: 0, newStart: y, newLines: 0, lines: [] };
    while (index < to) advance(hunk);
    if (hunk.oldLines > 0) hunk.oldStart++;
    if (hunk.newLines > 0) hunk.newStart++;
    return hunk;
  });
}

function append(hunk: Hunk, kind: Kind, line: string): void {
  const ended = line.endsWith('\n');
  hunk.lines.push({ kind, text: ended ? line.slice(0, -1) : line, ended });
  if (kind !== 'added') hunk.oldLines++;
  if (kind !== 'removed') hunk.newLines++;
}
