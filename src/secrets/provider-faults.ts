import {
  type FileFault,
  FileFaults,
  parseYaml,
  suggest,
  visibleLine,
  type YamlEntry,
  type YamlNode,
} from '../base/index.ts';

/** A fault of a provider file. There are no warnings: what is not understood could have been meant to forbid something. */
export type ProviderDiagnostic = FileFault;

/** Collects faults by their place in the text. */
export class ProviderFaults extends FileFaults {
  /** The one document, without aliases, tags, doubled or strange keys; JSON is YAML too. */
  parse(): YamlNode | null {
    const { node, problems } = parseYaml(this.source, 0);
    for (const { at, message } of problems) this.add(at, message, 'Write plain YAML or JSON.');
    return node;
  }

  fields(node: YamlNode, what: string, known: readonly string[]): Map<string, YamlEntry> {
    const entries = this.entries(node, what);
    for (const { key, keyAt } of entries) {
      if (known.includes(key)) continue;
      const meant = suggest(key, known);
      const hint = meant === null ? `The keys are ${known.join(', ')}.` : `Did you mean ${meant}?`;
      this.add(keyAt, `${what} has no key "${visibleLine(key, 60)}"`, hint);
    }
    return new Map(entries.map(entry => [entry.key, entry]));
  }

  entries(node: YamlNode, what: string): YamlEntry[] {
    if (node.kind === 'map') return node.entries;
    this.add(node.at, `${what} is not a mapping`, 'Write key: value lines.');
    return [];
  }

  text(node: YamlNode, what: string, form: RegExp, says: string): string | null {
    if (node.kind === 'scalar' && typeof node.value === 'string' && form.test(node.value)) return node.value;
    return this.add(node.at, `${what} is ${says}`, 'See docs/secrets.md for the form of a provider file.');
  }

  boolean(node: YamlNode, what: string): boolean | null {
    if (node.kind === 'scalar' && typeof node.value === 'boolean') return node.value;
    return this.add(node.at, `${what} is true or false`, 'Write true or false.');
  }

  /** A list of texts, or one text in the place of a list of one. */
  texts(node: YamlNode, what: string): { text: string; at: number }[] {
    const items = node.kind === 'list' ? node.items : [node];
    return items.flatMap(item => {
      if (item.kind === 'scalar' && typeof item.value === 'string') return [{ text: item.value, at: item.at }];
      this.add(item.at, `${what} is a list of texts`, 'Write each on a line of its own, after a hyphen.');
      return [];
    });
  }
}
