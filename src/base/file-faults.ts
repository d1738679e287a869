/** What is wrong with a file that the user wrote, and where. */
export type FileFault = { file: string; line: number; column: number; message: string; hint: string };

const MAX_FAULTS = 50;

/** Collects faults by their offset; lines and columns are computed for what is reported. */
export class FileFaults {
  readonly list: FileFault[] = [];
  protected readonly source: string;
  readonly #file: string;

  constructor(text: string, file: string) {
    this.source = text;
    this.#file = file;
  }

  add(at: number, message: string, hint: string): null {
    if (this.list.length >= MAX_FAULTS) return null;
    const before = this.source.slice(0, at);
    const line = before.split('\n').length;
    this.list.push({ file: this.#file, line, column: at - before.lastIndexOf('\n'), message, hint });
    return null;
  }
}
