import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unifiedParent } from '../../src/sandbox/cgroup-find.ts';
import { FakeCgroups, ROOT } from '../support/fake-cgroups.ts';

const ALL = ['cpu', 'memory', 'pids'];
const ALICE = 1000;
const at = (path: string) => join(ROOT, path);
const find = (tree: FakeCgroups, own: string) => unifiedParent(at(own), ROOT, tree);
const place = (found: ReturnType<typeof find>) => (found === null ? null : [...new Set(found.parents.values())]);
const kept = (tree: FakeCgroups) => tree.made.filter(path => tree.nodes.has(path));

/** The slices of a user, as systemd makes them. */
function session(uid: number): FakeCgroups {
  return new FakeCgroups(uid)
    .add('user.slice', 0, ALL)
    .add('user.slice/user-1000.slice', 0, ALL)
    .add('user.slice/user-1000.slice/session-1.scope', 0, [], 3)
    .add('user.slice/user-1000.slice/user@1000.service', ALICE, ALL)
    .add('user.slice/user-1000.slice/user@1000.service/app.slice', ALICE, ALL)
    .add('user.slice/user-1000.slice/user@1000.service/app.slice/term.scope', ALICE, [], 2);
}
const TERMINAL = 'user.slice/user-1000.slice/user@1000.service/app.slice/term.scope';
const LOGIN = 'user.slice/user-1000.slice/session-1.scope';

describe('where runs get their cgroups on v2', () => {
  it('a terminal of a desktop: beside its scope, which has processes and stays as it is', () => {
    const tree = session(ALICE);
    expect(place(find(tree, TERMINAL))).toEqual([at(`${dirname(TERMINAL)}/skillbox`)]);
    expect(tree.nodes.get(at(TERMINAL))).toEqual({ owner: ALICE, processes: 2, handed: new Set() });
  });

  it('a login to which nothing was handed: nowhere, and nothing was made', () => {
    const tree = session(ALICE);
    expect(find(tree, LOGIN)).toBeNull();
    expect([tree.made, tree.written]).toEqual([[], []]);
  });

  it('a delegated service whose server has moved aside: in the unit itself', () => {
    const tree = new FakeCgroups(ALICE)
      .add('system.slice', 0, ALL)
      .add('system.slice/skillbox.service', ALICE)
      .add('system.slice/skillbox.service/server', ALICE, [], 1);
    expect(place(find(tree, 'system.slice/skillbox.service/server'))).toEqual([
      at('system.slice/skillbox.service/skillbox'),
    ]);
  });

  it('a slice without processors is passed over for the root, and left as it was', () => {
    const tree = new FakeCgroups(0).add('system.slice', 0, ['memory', 'pids']).add('system.slice/x.service', 0, [], 1);
    (tree.nodes.get(ROOT) ?? { handed: new Set() }).handed.delete('cpu');
    const found = find(tree, 'system.slice/x.service');
    expect([place(found), [...(found?.parents.keys() ?? [])].sort()]).toEqual([[at('skillbox')], ALL]);
    expect(kept(tree)).toEqual([at('skillbox')]);
  });

  it('less is better than nothing: memory and processes where processors are not handed over', () => {
    const tree = new FakeCgroups(ALICE)
      .add('a', 0, ['memory', 'pids'])
      .add('a/b', ALICE, ['memory', 'pids'])
      .add('a/b/own', ALICE, [], 1);
    expect([...(find(tree, 'a/b/own')?.parents.keys() ?? [])].sort()).toEqual(['memory', 'pids']);
  });

  it('root in the terminal of somebody else keeps out of what is theirs', () => {
    const tree = session(0);
    expect(place(find(tree, TERMINAL))).toEqual([at('user.slice/user-1000.slice/skillbox')]);
  });

  it("a directory that is another account's is of no use", () => {
    const tree = session(ALICE).add(`${dirname(TERMINAL)}/skillbox`, 0, ALL);
    expect(place(find(tree, TERMINAL))).toEqual([at(`${dirname(dirname(TERMINAL))}/skillbox`)]);
  });

  it('a container that has its processes at its root: nowhere', () => {
    const tree = new FakeCgroups(ALICE).add('own', ALICE, [], 1);
    expect(find(tree, 'own')).toBeNull();
    expect(kept(tree)).toEqual([]);
  });

  it('a cgroup with processes is never told to hand anything down, though the kernel would let it', () => {
    const tree = new FakeCgroups(ALICE, ['cpu', 'pids']).add('own', ALICE, [], 1);
    expect(find(tree, 'own')).toBeNull();
    expect(tree.written).toEqual([]);
  });

  it('one controller that the kernel refuses takes no other with it', () => {
    const tree = new FakeCgroups(0, ALL, ['cpu']).add('x', 0, [], 1);
    for (const name of ALL) (tree.nodes.get(ROOT) ?? { handed: new Set() }).handed.delete(name);
    expect([...(find(tree, 'x')?.parents.keys() ?? [])].sort()).toEqual(['memory', 'pids']);
  });

  it('our own place outside what is mounted: nowhere', () => {
    expect(unifiedParent('/sys/fs/elsewhere', ROOT, new FakeCgroups(0))).toBeNull();
    expect(unifiedParent(`${ROOT}-2/x`, ROOT, new FakeCgroups(0))).toBeNull();
  });

  it('whatever the tree: what is found was handed down, is ours, and nothing else is left', () => {
    const level = fc.record({
      owner: fc.constantFrom(0, ALICE),
      handed: fc.subarray(ALL),
      processes: fc.nat(1),
    });
    fc.assert(
      fc.property(fc.array(level, { minLength: 1, maxLength: 6 }), fc.constantFrom(0, ALICE), (levels, uid) => {
        const tree = new FakeCgroups(uid);
        let path = '';
        let available: readonly string[] = ALL;
        for (const { owner, handed, processes } of levels) {
          path = join(path, 'c');
          const really = processes > 0 ? [] : handed.filter(name => available.includes(name));
          tree.add(path, owner, really, processes);
          available = really;
        }
        const found = find(tree, path);
        const [parent] = place(found) ?? [];
        expect(kept(tree)).toEqual(parent === undefined ? [] : [parent]);
        for (const directory of tree.written.map(file => dirname(file))) {
          const { owner, processes } = tree.nodes.get(directory) ?? { owner: uid, processes: 0 };
          expect([owner, directory === ROOT ? 0 : processes]).toEqual([uid, 0]);
        }
        if (parent === undefined) return;
        const handed = tree.nodes.get(parent)?.handed ?? new Set();
        expect([...(found?.parents.keys() ?? [])].sort()).toEqual([...handed].sort());
        expect(handed.size).toBeGreaterThan(0);
      }),
    );
  });
});
