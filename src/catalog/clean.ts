/**
 * Text of a skill as a model may see it: what a person does not see is gone. Zero-width and bidi characters, Unicode tags,
 * variation selectors, fillers and controls have all been used to hide instructions from those who review a skill.
 */

// Marked in the first pass, so that what people write with is kept: emoji joined to one picture, and the joiners that
// Persian and the scripts of India need between two letters.
const EMOJI_JOINER = /(?<=\p{Extended_Pictographic}\ufe0f?\p{Emoji_Modifier}?)\u200d(?=\p{Extended_Pictographic})/gu;
const EMOJI_SELECTOR = /(?<=[\p{Extended_Pictographic}0-9#*])\ufe0f/gu;
const JOINED = String.raw`\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}`;
const LETTER_JOINER = new RegExp(`(?<=[${JOINED}])[\\u200c\\u200d](?=[${JOINED}])`, 'gu');

const UNSEEN = String.raw`\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cs}\p{Noncharacter_Code_Point}\u2800`;
const HIDDEN = new RegExp(`[${UNSEEN}]`, 'gu');
/** Printable ASCII, with single spaces and none at its ends: as nearly all text is. */
const CLEAN = /^(?:[!-~]+(?: [!-~]+)*)?$/;
const PLAIN = /^[ -~]*$/;
// A program that draws text may take any of these for the end of a line.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;
const CONTROL_IN_TEXT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029]/g;

/** On one line: for names and descriptions, so that none of them can pose as a second entry. */
export function cleanLine(text: string): string {
  if (CLEAN.test(text)) return text;
  if (PLAIN.test(text)) return text.replace(/ +/g, ' ').trim();
  return withoutHidden(text).replace(CONTROL, ' ').replace(/\s+/gu, ' ').trim();
}

/** With its lines: for instructions. `removed` is how many characters are gone. */
export function cleanText(text: string): { text: string; removed: number } {
  const lines = text.replace(/\r\n?/g, '\n');
  const shown = withoutHidden(lines).replace(CONTROL_IN_TEXT, '');
  return { text: shown, removed: lines.length - shown.length };
}

function withoutHidden(text: string): string {
  const kept = new Set<number>();
  for (const pattern of [EMOJI_JOINER, EMOJI_SELECTOR, LETTER_JOINER]) {
    for (const match of text.matchAll(pattern)) kept.add(match.index);
  }
  return text.replace(HIDDEN, (found, at: number) => (kept.has(at) ? found : ''));
}
