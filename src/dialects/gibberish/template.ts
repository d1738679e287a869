import type { DiagnosticCode, Piece, Token } from '../../skill/index.ts';

/** Both count from 1, within the command's text. */
export type Position = { line: number; column: number };
export type TemplateProblem = Position & { code: DiagnosticCode; message: string };
export type Template = {
  tokens: Token[];
  /** Where each token starts. */
  starts: Position[];
  problems: TemplateProblem[];
};

// One command can be a megabyte of mistakes; the first ones of a kind say enough.
const MAX_PER_CODE = 10;

// A placeholder lies in one quoting context, so what would end that context ends its modifier.
const NAME = '\\{\\{([A-Za-z_][A-Za-z0-9_-]*)';
const PLACEHOLDER = {
  bare: new RegExp(`${NAME}(?::([^\\s{}'"\\\\]+))?\\}\\}`, 'y'),
  single: new RegExp(`${NAME}(?::([^\\n{}']+))?\\}\\}`, 'y'),
  double: new RegExp(`${NAME}(?::([^\\n{}"\\\\]+))?\\}\\}`, 'y'),
};
type Context = keyof typeof PLACEHOLDER;

const EXPANSION = /\$(?:[A-Za-z_][A-Za-z0-9_]*|[{(0-9@*#?!$-])/y;

/**
 * GB-06: splits a command into tokens by POSIX quoting, before any value is put in: no value can ever open a quote,
 * end a word or start a command. Nothing is expanded; what a shell would expand is passed on as it is, with a warning.
 */
export function parseTemplate(text: string): Template {
  return new Scanner(text.replace(/\r\n?/g, '\n')).scan();
}

class Scanner {
  readonly #text: string;
  readonly #template: Template = { tokens: [], starts: [], problems: [] };
  readonly #warned = new Set<string>();
  #token: Token | null = null;
  #at = 0;
  // The line last asked for: places are asked for in the order of the text, but for an unclosed quote's.
  #line = { number: 1, start: 0, end: 0 };

  constructor(text: string) {
    this.#text = text;
    this.#line.end = this.#lineEnd(0);
  }

  scan(): Template {
    const { tokens } = this.#template;
    while (this.#at < this.#text.length) {
      const character = this.#text.charAt(this.#at);
      if (character === '\n') {
        this.#endToken();
        this.#at++;
        if (tokens.length > 0) {
          this.#refuseSecondLine();
          break;
        }
      } else if (character === ' ' || character === '\t') {
        this.#endToken();
        this.#at++;
      } else if (character === '#' && this.#token === null) this.#skipComment();
      else if (character === "'" || character === '"') {
        if (!this.#readQuoted(character)) break;
      } else this.#readBare(character);
    }
    this.#endToken();
    this.#checkProgram();
    return this.#template;
  }

  #readBare(character: string): void {
    if (character === '\\') {
      const next = this.#text.codePointAt(this.#at + 1);
      if (next === 0x0a) this.#at += 2;
      else {
        // A backslash at the very end stands for itself, as in sh.
        const escaped = next === undefined ? '\\' : String.fromCodePoint(next);
        this.#append(escaped, true);
        this.#at += next === undefined ? 1 : 1 + escaped.length;
      }
      return;
    }
    if (this.#readPlaceholder('bare')) return;
    if ('|&;<>*()`'.includes(character)) this.#warnShell(character);
    if (character === '$') this.#warnExpansion();
    if (character === '~' && this.#token === null) this.#warnShell('~');
    this.#append(character, false);
    this.#at++;
  }

  /** False when the quote is never closed. */
  #readQuoted(quote: "'" | '"'): boolean {
    const start = this.#at;
    const context: Context = quote === "'" ? 'single' : 'double';
    this.#append('', true);
    this.#at++;
    while (this.#at < this.#text.length) {
      const character = this.#text.charAt(this.#at);
      if (character === quote) {
        this.#at++;
        return true;
      }
      if (quote === '"' && character === '\\' && '$`"\\\n'.includes(this.#text.charAt(this.#at + 1) || ' ')) {
        const escaped = this.#text.charAt(this.#at + 1);
        if (escaped !== '\n') this.#append(escaped, true);
        this.#at += 2;
        continue;
      }
      if (this.#readPlaceholder(context)) continue;
      if (quote === '"' && character === '$') this.#warnExpansion();
      if (quote === '"' && character === '`') this.#warnShell('`');
      this.#append(character, true);
      this.#at++;
    }
    this.#report('template-quote', `the ${quote === "'" ? 'single' : 'double'} quote is never closed`, start);
    return false;
  }

  #readPlaceholder(context: Context): boolean {
    if (!this.#text.startsWith('{{', this.#at)) return false;
    const pattern = PLACEHOLDER[context];
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match !== null) {
      this.#open(context !== 'bare').pieces.push({ kind: 'value', name: match[1] ?? '', modifier: match[2] ?? null });
      this.#at += match[0].length;
      return true;
    }
    // `{{{x}}}` is a brace around a placeholder: only the last two of a run of braces can open one.
    if (this.#text.charAt(this.#at + 2) === '{') return false;
    const shown = /^\{\{[^\s}]{0,30}\}{0,2}/.exec(this.#text.slice(this.#at, this.#at + 40))?.[0] ?? '{{';
    this.#report('template-placeholder', `"${shown}" is not a placeholder: {{name}} or {{name:modifier}}`, this.#at);
    this.#append('{{', context !== 'bare');
    this.#at += 2;
    return true;
  }

  #skipComment(): void {
    const end = this.#text.indexOf('\n', this.#at);
    const comment = this.#text.slice(this.#at, end === -1 ? this.#text.length : end);
    // Behind a command, `#{{n}}` was more likely meant as an argument.
    if (this.#template.tokens.length > 0 && comment.includes('{{')) this.#warnShell('#', '"#" starts a comment');
    this.#at += comment.length;
  }

  /** Blank lines and comments may follow the one command. */
  #refuseSecondLine(): void {
    while (this.#at < this.#text.length) {
      const rest = /[^\s]/g;
      rest.lastIndex = this.#at;
      const next = rest.exec(this.#text);
      if (next === null) return;
      this.#at = next.index;
      if (next[0] !== '#') {
        this.#report('template-lines', 'a second command line starts here', this.#at);
        return;
      }
      const end = this.#text.indexOf('\n', this.#at);
      this.#at = end === -1 ? this.#text.length : end;
    }
  }

  #checkProgram(): void {
    const { tokens, starts, problems } = this.#template;
    // What an unclosed quote swallowed says nothing about the program.
    if (problems.some(problem => problem.code === 'template-quote')) return;
    const [program] = tokens;
    const [place] = starts;
    if (program === undefined || place === undefined) {
      this.#report('template-empty', 'there is no command', 0);
      return;
    }
    const text = program.pieces.map(piece => (piece.kind === 'text' ? piece.text : '')).join('');
    const value = program.pieces.find(piece => piece.kind === 'value');
    const add = (code: DiagnosticCode, message: string) => problems.push({ code, message, ...place });
    if (value !== undefined) add('template-program', `{{${value.name}}} would choose the program that runs`);
    else if (text === '') add('template-empty', 'the program is an empty word');
    else if (text === '$') add('template-shell', '"$" is taken for the program; leave the prompt out');
    else if (/^[A-Za-z_][A-Za-z0-9_]*=/.test(text)) {
      add('template-shell', `"${text.slice(0, text.indexOf('=') + 1)}…" is taken for the program, not for a variable`);
    }
  }

  #warnExpansion(): void {
    EXPANSION.lastIndex = this.#at;
    const match = EXPANSION.exec(this.#text);
    if (match !== null) this.#warnShell(match[0]);
  }

  #warnShell(seen: string, message = `"${seen}" is passed on as it is: no shell reads the command`): void {
    if (this.#warned.has(seen)) return;
    this.#warned.add(seen);
    this.#report('template-shell', message, this.#at);
  }

  #append(text: string, quoted: boolean): void {
    const { pieces } = this.#open(quoted);
    const last: Piece | undefined = pieces.at(-1);
    if (last?.kind === 'text') last.text += text;
    else if (text !== '') pieces.push({ kind: 'text', text });
  }

  #open(quoted: boolean): Token {
    if (this.#token === null) {
      this.#token = { pieces: [], quoted: false };
      this.#template.starts.push(this.#place(this.#at));
    }
    if (quoted) this.#token.quoted = true;
    return this.#token;
  }

  #endToken(): void {
    if (this.#token !== null) this.#template.tokens.push(this.#token);
    this.#token = null;
  }

  #report(code: DiagnosticCode, message: string, offset: number): void {
    const { problems } = this.#template;
    if (problems.filter(problem => problem.code === code).length >= MAX_PER_CODE) return;
    problems.push({ code, message, ...this.#place(offset) });
  }

  #place(offset: number): Position {
    if (offset < this.#line.start) this.#line = { number: 1, start: 0, end: this.#lineEnd(0) };
    while (this.#line.end < offset) {
      const start = this.#line.end + 1;
      this.#line = { number: this.#line.number + 1, start, end: this.#lineEnd(start) };
    }
    return { line: this.#line.number, column: offset - this.#line.start + 1 };
  }

  #lineEnd(start: number): number {
    const end = this.#text.indexOf('\n', start);
    return end === -1 ? this.#text.length : end;
  }
}
