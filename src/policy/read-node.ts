import { type FileFault, FileFaults, suggest, visibleLine, type YamlEntry, type YamlNode } from '../base/index.ts';

/** A fault of a policy file. There are no warnings: what is not understood could have been meant to forbid something. */
export type PolicyDiagnostic = FileFault;

/** Collects faults by their offset; lines and columns are computed for what is reported. */
export class Faults extends FileFaults {
  /** The entries of a mapping by their keys; an unknown key is a fault, because a misspelt rule must not widen. */
  fields(node: YamlNode, what: string, known: readonly string[]): Map<string, YamlEntry> {
    if (node.kind !== 'map') {
      this.add(node.at, `${what} is not a mapping`, `Its keys are ${known.join(', ')}.`);
      return new Map();
    }
    for (const { key, keyAt } of node.entries) {
      if (known.includes(key)) continue;
      const meant = suggest(key, known);
      const hint = meant === null ? `The keys are ${known.join(', ')}.` : `Did you mean ${meant}?`;
      this.add(keyAt, `${what} has no key "${visibleLine(key, 60)}"`, hint);
    }
    return new Map(node.entries.map(entry => [entry.key, entry]));
  }

  text(node: YamlNode, what: string, maxLength: number): string | null {
    const value = node.kind === 'scalar' ? node.value : null;
    if (typeof value !== 'string' || value.trim() === '')
      return this.add(node.at, `${what} is not a text`, 'Quote it.');
    if (value.length <= maxLength) return value;
    return this.add(node.at, `${what} has ${value.length} characters`, `At most ${maxLength} are taken.`);
  }

  flag(node: YamlNode, what: string): boolean | null {
    if (node.kind === 'scalar' && typeof node.value === 'boolean') return node.value;
    return this.add(node.at, `${what} is neither true nor false`, 'Write true or false, without quotes.');
  }

  word<Word extends string>(node: YamlNode, what: string, words: readonly Word[]): Word | null {
    const value = node.kind === 'scalar' ? node.text : '';
    const found = words.find(word => word === value);
    if (found !== undefined) return found;
    const meant = suggest(value, words);
    const shown = node.kind === 'scalar' ? `"${visibleLine(value, 60)}"` : `a ${node.kind}`;
    const hint = meant === null ? `Write one of ${words.join(', ')}.` : `Did you mean ${meant}?`;
    return this.add(node.at, `${what} is ${shown}`, hint);
  }

  /** One value or a list of them; an empty list is a fault, because it could be read as none and as all. */
  items(node: YamlNode, what: string, most: number): YamlNode[] {
    if (node.kind === 'scalar') return [node];
    if (node.kind === 'map') {
      this.add(node.at, `${what} is a mapping`, 'Write a value or a list of values.');
      return [];
    }
    if (node.items.length === 0) this.add(node.at, `${what} is an empty list`, 'Leave it out, or name something.');
    if (node.items.length > most) {
      this.add(node.at, `${what} has ${node.items.length} entries`, `At most ${most} are taken.`);
    }
    return node.items.slice(0, most);
  }
}
