import type { ImageLimits } from './limits.ts';
import { checkLinkTarget, splitPath } from './paths.ts';
import { refuse } from './refusal.ts';

/** The bytes of a regular file; several names may share them (hard links). */
export type Content = {
  /** Where they lie until the image is written out. */
  stored: string;
  bytes: number;
  sha256: string;
  executable: boolean;
  mtimeSeconds: number;
  links: number;
};

export type Directory = { kind: 'directory'; layer: number; children: Map<string, Node> };
/** `layer` is the last one that wrote the entry: a whiteout takes away only what is from below its own. */
export type Node =
  | Directory
  | { kind: 'file'; layer: number; content: Content }
  | { kind: 'link'; layer: number; target: string };

const WHITEOUT = '.wh.';
const OPAQUE = '.wh..wh..opq';
const META = '.wh..wh.';

/**
 * The image's files as its layers leave them, in memory. Nothing is written under an image's own names before the last
 * layer is applied, so a link of one layer cannot lead a write of the next out of the root.
 */
export class Tree {
  readonly root: Directory = { kind: 'directory', layer: -1, children: new Map() };
  readonly #limits: ImageLimits;
  #layer = -1;
  #entries = 0;

  constructor(limits: ImageLimits) {
    this.#limits = limits;
  }

  nextLayer(): void {
    if (++this.#layer >= this.#limits.layers)
      throw refuse('layers', null, `has more than ${this.#limits.layers} layers`);
  }

  /** Counts an entry and answers its names; null where it was a whiteout, which is then done, or the root. */
  enter(path: string): string[] | null {
    this.#count();
    const names = splitPath(path, this.#limits);
    const last = names.at(-1);
    if (last === undefined) return null;
    const parents = names.slice(0, -1);
    if (last === OPAQUE) this.#clear(path, parents);
    // Notes of the AUFS driver to itself, and not files of the image.
    else if (names.some(name => name.startsWith(META))) return null;
    else if (parents.some(name => name.startsWith(WHITEOUT))) throw refuse('whiteout', path, 'lies inside a whiteout');
    else if (last.startsWith(WHITEOUT)) this.#remove(path, parents, last.slice(WHITEOUT.length));
    else return names;
    return null;
  }

  addDirectory(path: string, names: readonly string[]): void {
    const { parent, name } = this.#place(path, names);
    const there = parent.children.get(name);
    if (there?.kind === 'directory') there.layer = this.#layer;
    else parent.children.set(name, { kind: 'directory', layer: this.#layer, children: new Map() });
  }

  addFile(path: string, names: readonly string[], content: Content): void {
    const { parent, name } = this.#place(path, names);
    parent.children.set(name, { kind: 'file', layer: this.#layer, content });
  }

  addLink(path: string, names: readonly string[], target: string): void {
    checkLinkTarget(path, target);
    const { parent, name } = this.#place(path, names);
    parent.children.set(name, { kind: 'link', layer: this.#layer, target });
  }

  /** A second name of something in the image; the target is found as everything is, through directories only. */
  addHardLink(path: string, names: readonly string[], target: string): void {
    const targetNames = splitPath(target, this.#limits);
    const found = this.#find(target, targetNames);
    if (found === null) throw refuse('link-target', path, `is a hard link to "${target}", which is not in the image`);
    if (found.kind === 'directory') throw refuse('link-target', path, `is a hard link to the directory "${target}"`);
    if (found.kind === 'file' && ++found.content.links > this.#limits.links)
      throw refuse('links', path, `is one of more than ${this.#limits.links} names of one file`);
    const { parent, name } = this.#place(path, names);
    parent.children.set(name, { ...found, layer: this.#layer });
  }

  /** What is skipped still hides what lay below it. */
  addNothing(path: string, names: readonly string[]): void {
    const { parent, name } = this.#place(path, names);
    parent.children.delete(name);
  }

  #place(path: string, names: readonly string[]): { parent: Directory; name: string } {
    const name = names.at(-1);
    if (name === undefined) throw refuse('type', path, 'is the root, and no directory');
    let parent = this.root;
    for (const part of names.slice(0, -1)) {
      const there = parent.children.get(part);
      if (there !== undefined) {
        parent = requireDirectory(path, part, there);
        continue;
      }
      // Counted too: one deep path would otherwise make a hundred directories for the price of one.
      this.#count();
      const made: Directory = { kind: 'directory', layer: this.#layer, children: new Map() };
      parent.children.set(part, made);
      parent = made;
    }
    return { parent, name };
  }

  #count(): void {
    if (++this.#entries > this.#limits.entries)
      throw refuse('entries', null, `has more than ${this.#limits.entries} entries`);
  }

  #find(path: string, names: readonly string[]): Node | null {
    let at: Node = this.root;
    for (const [index, part] of names.entries()) {
      const next: Node | undefined = requireDirectory(path, names[index - 1] ?? '', at).children.get(part);
      if (next === undefined) return null;
      at = next;
    }
    return at;
  }

  #remove(path: string, parents: readonly string[], name: string): void {
    if (name === '' || name === '.' || name === '..') throw refuse('whiteout', path, 'is a whiteout of nothing');
    const parent = this.#find(path, parents);
    if (parent?.kind === 'directory') this.#dropLower(parent, name);
  }

  #clear(path: string, parents: readonly string[]): void {
    const directory = this.#find(path, parents);
    if (directory?.kind !== 'directory') return;
    for (const name of directory.children.keys()) this.#dropLower(directory, name);
  }

  /** Takes away what is from lower layers, wherever in its layer the whiteout stands. */
  #dropLower(parent: Directory, name: string): void {
    const node = parent.children.get(name);
    if (node === undefined) return;
    if (node.kind === 'directory') {
      for (const child of node.children.keys()) this.#dropLower(node, child);
      if (node.children.size > 0) return;
    }
    if (node.layer < this.#layer) parent.children.delete(name);
  }
}

/** The way out of every unpacker: a link made by one entry, and walked through by the next. */
function requireDirectory(path: string, name: string, node: Node): Directory {
  if (node.kind === 'link') throw refuse('link-parent', path, `leads through "${name}", a symbolic link`);
  if (node.kind === 'file') throw refuse('file-parent', path, `leads through "${name}", which is a file`);
  return node;
}
