import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Io } from '../../src/cli/io.ts';
import { LiveView } from '../../src/cli/live-view.ts';

/** As much of a terminal as the view makes use of: it wraps what is too wide, and scrolls. */
class Screen {
  columns: number;
  rows: number;
  /** All rows ever; the last `rows` of them can be reached. */
  lines: string[] = [''];
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  write(text: string): void {
    for (const [token] of text.matchAll(/\u001b\[\d*[AJ]|[\s\S]/gu)) this.#take(token);
  }

  /** As terminals do it: each row that is too wide goes on in the next. */
  narrow(columns: number): void {
    const above = this.lines.slice(0, this.#row);
    this.columns = columns;
    this.lines = [''];
    this.#row = 0;
    this.#column = 0;
    this.write(above.map(line => `${line}\n`).join(''));
  }

  #take(token: string): void {
    if (token === '\n') this.#newLine();
    else if (token.endsWith('A') && token.length > 1) {
      this.#row = Math.max(this.#row - Number(token.slice(2, -1)), this.lines.length - this.rows, 0);
    } else if (token === '\u001b[J') {
      this.lines.length = this.#row + 1;
      this.lines[this.#row] = '';
      this.#column = 0;
    } else {
      const width = /[\u0300-\u036f]/u.test(token) ? 0 : /[\u3000-\u9fff]|[\u{1f000}-\u{1ffff}]/u.test(token) ? 2 : 1;
      if (this.#column + width > this.columns) this.#newLine();
      this.lines[this.#row] += token;
      this.#column += width;
    }
  }

  #newLine(): void {
    this.#row++;
    this.#column = 0;
    this.lines[this.#row] ??= '';
  }
}

function show(columns: number, rows = 24): { screen: Screen; live: LiveView } {
  const screen = new Screen(columns, rows);
  screen.write('before\n');
  const io = {
    err: (text: string) => screen.write(text),
    paint: (_style: string, text: string) => text,
    get columns() {
      return screen.columns;
    },
    get rows() {
      return screen.rows;
    },
  };
  return { screen, live: new LiveView(io as unknown as Io) };
}

describe('the view of a run', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  describe.each([20, 80])('on a terminal of %i columns', columns => {
    test.each([
      ['plain letters', 'x'.repeat(300)],
      ['just as many as fit', 'x'.repeat(columns - 2)],
      ['one more', 'x'.repeat(columns - 1)],
      ['wide letters', '漢字'.repeat(100)],
      ['wide letters between narrow ones', 'a漢b字c'.repeat(60)],
      ['emoji', '🚀🎉'.repeat(50)],
      ['combining marks', 'e\u0301'.repeat(200)],
    ])('%s: what stood before stays, each line is one row, and nothing is left', (_name, line) => {
      const { screen, live } = show(columns);
      live.setState('a state with many words in its name');
      live.add(`first\n${line}\nlast\n`);
      vi.advanceTimersByTime(1000);
      const [before, state, first, middle, last, ...rest] = screen.lines;
      expect([before, first, last, rest]).toEqual(['before', '  first', '  last', ['']]);
      expect(state).toMatch(/^. a state/);
      expect(middle?.slice(0, 6)).toBe(`  ${line}`.slice(0, 6));
      live.end();
      expect(screen.lines).toEqual(['before', '']);
    });
  });

  test('a line that fits is whole, and one that does not says so', () => {
    const { screen, live } = show(20);
    live.add(`${'漢'.repeat(9)}\n${'漢'.repeat(10)}\n`);
    vi.advanceTimersByTime(100);
    expect(screen.lines.slice(2, 4)).toEqual([`  ${'漢'.repeat(9)}`, `  ${'漢'.repeat(8)}…`]);
    live.end();
  });

  test('a terminal that becomes narrower or wider is followed', () => {
    const { screen, live } = show(80);
    live.add(`${'x'.repeat(300)}\n`);
    vi.advanceTimersByTime(100);
    screen.narrow(30);
    vi.advanceTimersByTime(100);
    expect(screen.lines).toEqual(['before', expect.stringContaining('preparing'), `  ${'x'.repeat(27)}…`, '']);
    screen.columns = 60;
    vi.advanceTimersByTime(100);
    expect(screen.lines).toEqual(['before', expect.stringContaining('preparing'), `  ${'x'.repeat(57)}…`, '']);
    live.end();
    expect(screen.lines).toEqual(['before', '']);
  });

  test.each([2, 4, 6])('no more is drawn than %i rows hold', rows => {
    const { screen, live } = show(40, rows);
    live.add('one\ntwo\nthree\nfour\nfive\nsix\n');
    vi.advanceTimersByTime(1000);
    expect(screen.lines.slice(1)).toHaveLength(Math.min(rows, 7));
    if (rows > 2) expect(screen.lines.at(-2)).toBe('  six');
    live.end();
    expect(screen.lines).toEqual(['before', '']);
  });
});
