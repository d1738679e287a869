// What takes two columns on a terminal: East Asian wide letters and emoji. Above U+FFFF all of it, because what is counted too
// narrow goes on at the edge of the screen, where only rows of ours begin; counted too wide, a line is only shorter.
const WIDE =
  /[\u1100-\u115f\u2329\u232a\ua960-\ua97c\u{10000}-\u{10ffff}\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const COMBINING = /^\p{M}$/u;
/** Makes a picture of the letter before it, which then takes a second column. */
const PICTURE = '\ufe0f';

/** How many columns of a terminal the text takes; it must be visible already. */
export function widthOf(text: string): number {
  let width = 0;
  for (const point of text) width += point === PICTURE ? 1 : COMBINING.test(point) ? 0 : WIDE.test(point) ? 2 : 1;
  return width;
}

/** Lines of at most `width` columns, broken at spaces where there are any. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    for (const piece of pieces(word, width)) {
      const joined = line === '' ? piece : `${line} ${piece}`;
      if (widthOf(joined) <= width) line = joined;
      else {
        lines.push(line);
        line = piece;
      }
    }
  }
  if (line !== '' || lines.length === 0) lines.push(line);
  return lines;
}

/** One line of at most `width` columns; where something was cut off, it says so. */
export function cutTo(line: string, width: number): string {
  return widthOf(line) <= width ? line : `${pieces(line, width - 1)[0] ?? ''}…`;
}

/** A word that is longer than a line is cut into such that are not. */
export function pieces(word: string, width: number): string[] {
  if (widthOf(word) <= width) return [word];
  const cut: string[] = [];
  let piece = '';
  for (const point of word) {
    if (widthOf(piece + point) > width) {
      cut.push(piece);
      piece = '';
    }
    piece += point;
  }
  return [...cut, piece];
}
