import type { Guarantee, Level } from './sandbox.ts';

/** What the helper's `probe`, run inside, says of the guarantees that hold for the whole tree or not at all. */
export function seenInside(seen: ReadonlyMap<string, string>): [Guarantee, Level][] {
  const is = (key: string, value: string) => seen.get(key) === value;
  const refused = (key: string) => seen.has(key) && !is(key, '0');
  const tree = (holds: boolean): Level => (holds ? 'kernel-tree' : 'none');
  const noCapability = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].every(key =>
    /^0+$/.test(seen.get(key) ?? 'x'),
  );
  return [
    ['files', tree(refused('root') && refused('sysctl'))],
    ['network', tree(is('interfaces', '1'))],
    ['processes', tree(is('processes', '2'))],
    ['syscalls', tree(is('Seccomp', '2') && refused('netlink'))],
    ['privileges', tree(noCapability && is('NoNewPrivs', '1') && refused('unshare'))],
    ['identity', process.getuid?.() === 0 ? 'kernel-tree' : 'none'],
    ['environment', tree(refused('pid1'))],
    ['tmpfs', tree(is('noexec', '1'))],
  ];
}
