import { basename, dirname, join } from 'node:path';
import type { Tree } from '../../src/sandbox/cgroup-find.ts';

export type Node = { owner: number; processes: number; handed: Set<string>; threads?: boolean };
export const ROOT = '/sys/fs/cgroup';

/** A kernel with cgroup v2, as far as finding a place in it goes: its rules, and none of its effects. */
export class FakeCgroups implements Tree {
  readonly nodes = new Map<string, Node>();
  readonly written: string[] = [];
  readonly made: string[] = [];
  private readonly uid: number;
  private readonly has: readonly string[];
  private readonly refused: readonly string[];
  /** `refused`: real-time processes keep `cpu` from being handed down. */
  constructor(uid: number, has: readonly string[] = ['cpu', 'memory', 'pids'], refused: readonly string[] = []) {
    this.uid = uid;
    this.has = has;
    this.refused = refused;
    this.add('', 0, has);
  }

  add(path: string, owner: number, handed: readonly string[] = [], processes = 0): this {
    this.nodes.set(join(ROOT, path), { owner, processes, handed: new Set(handed) });
    return this;
  }

  private node(path: string): Node {
    const found = this.nodes.get(path);
    if (found === undefined) throw fault('ENOENT');
    return found;
  }

  private controllers(path: string): readonly string[] {
    return path === ROOT ? this.has : [...(this.nodes.get(dirname(path))?.handed ?? [])];
  }

  read(path: string): string {
    const directory = dirname(path);
    if (basename(path) === 'cgroup.procs') return '17\n'.repeat(this.node(directory).processes);
    const list = basename(path) === 'cgroup.controllers' ? this.controllers(directory) : this.node(directory).handed;
    return `${[...list].join(' ')}\n`;
  }

  write(path: string, text: string): void {
    const directory = dirname(path);
    const node = this.node(directory);
    const name = text.slice(1);
    if (basename(path) !== 'cgroup.subtree_control') throw new Error(`nobody should write to ${path}`);
    if (this.uid !== 0 && node.owner !== this.uid) throw fault('EACCES');
    if (!this.controllers(directory).includes(name)) throw fault('ENOENT');
    if (this.refused.includes(name)) throw fault('EINVAL');
    if ([...this.nodes].some(([above, { threads }]) => threads && directory.startsWith(`${above}/`)))
      throw fault('ENOTSUP');
    if (directory !== ROOT && node.processes > 0) {
      if (name === 'memory') throw fault('EBUSY');
      node.threads = true; // a way that leads nowhere: what is below can have no processes
    }
    node.handed.add(name);
    this.written.push(path);
  }

  exists(path: string): boolean {
    if (this.nodes.has(path)) return true;
    const directory = dirname(path);
    if (!this.nodes.has(directory)) return false;
    if (basename(path) === 'cgroup.type') return directory !== ROOT;
    const [controller = ''] = basename(path).split('.');
    return controller === 'cgroup' || this.controllers(directory).includes(controller);
  }

  mayMove(directory: string): boolean {
    return this.node(directory).owner === this.uid;
  }

  make(directory: string): void {
    if (this.nodes.has(directory)) return;
    if (this.uid !== 0 && this.node(dirname(directory)).owner !== this.uid) throw fault('EACCES');
    this.nodes.set(directory, { owner: this.uid, processes: 0, handed: new Set() });
    this.made.push(directory);
  }

  remove(directory: string): void {
    const inUse =
      this.node(directory).processes > 0 || [...this.nodes.keys()].some(path => dirname(path) === directory);
    if (inUse) throw fault('EBUSY');
    this.nodes.delete(directory);
  }
}

const fault = (code: string) => Object.assign(new Error(code), { code });
