// What takes two columns on a terminal: East Asian wide letters and emoji.
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const COMBINING = /^\p{M}$/u;

/** How many columns of a terminal the text takes; it must be visible already. */
export function widthOf(text: string): number {
  let width = 0;
  for (const point of text) width += COMBINING.test(point) ? 0 : WIDE.test(point) ? 2 : 1;
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

/** A word that is longer than a line is cut into such that are not. */
function pieces(word: string, width: number): string[] {
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
