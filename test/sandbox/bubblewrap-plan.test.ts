import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { checkMounts } from '../../src/sandbox/bubblewrap-mounts.ts';
import { type Facts, isStaged, type Plan, planRun } from '../../src/sandbox/bubblewrap-plan.ts';
import type { RunSpec } from '../../src/sandbox/index.ts';
import { LIMITS } from '../support/sandbox-spec.ts';

const MiB = 1024 * 1024;

const SPEC: RunSpec = {
  argv: ['python3', '/sandbox/scripts/main.py', '--flag'],
  cwd: '/sandbox/out',
  env: { HOME: '/root', TOKEN: 'secret' },
  mounts: [
    { kind: 'tmpfs', at: '/tmp', bytes: 64 * MiB },
    { kind: 'tmpfs', at: '/root', bytes: MiB },
    { kind: 'bind', source: '/data/skill', at: '/sandbox/scripts', writable: false, exec: true, protect: null },
    { kind: 'bind', source: '/home/u/.gitconfig', at: '/root/.gitconfig', writable: false, exec: false, protect: null },
    {
      kind: 'bind',
      source: '/home/u/work',
      at: '/workspace',
      writable: true,
      exec: true,
      protect: { reveal: [], unlock: [] },
    },
    { kind: 'text', at: '/sandbox/input.json', text: '{}' },
    { kind: 'out', at: '/sandbox/out', directories: ['files'] },
  ],
  limits: LIMITS,
  network: { kind: 'egress', socket: '/data/proxy.sock', at: '/sandbox/net/proxy.sock' },
  runtime: { kind: 'host', also: [] },
  tenant: null,
  requires: new Map(),
};

const FACTS: Facts = {
  bwrap: '/usr/bin/bwrap',
  helper: '/opt/skillbox/dist/helper/skillbox-helper-x64',
  filter: Buffer.from('FILTER'),
  runAs: { uid: 200_001, gid: 200_001 },
  root: [
    { kind: 'directory', source: '/usr', at: '/usr' },
    { kind: 'link', target: 'usr/bin', at: '/bin' },
  ],
  etc: '/state/etc-1',
  etcBinds: [{ source: '/etc/ld.so.cache', at: '/etc/ld.so.cache' }],
  programs: [
    {
      used: { name: 'python3', version: '3.13.1', from: 'host', path: '/root/.pyenv/versions/3.13.1/bin/python3.13' },
      real: '/root/.pyenv/versions/3.13.1/bin/python3.13',
      mounts: [{ source: '/root/.pyenv/versions/3.13.1', at: '/root/.pyenv/versions/3.13.1' }],
      bin: '/root/.pyenv/versions/3.13.1/bin',
    },
  ],
  cgroup: new Set(['memory', 'pids', 'cpu']),
  outTmpfs: '/state/runs/sb-1/disk',
  identities: new Map([['/workspace', { device: 2049n, inode: 131_074n }]]),
  files: new Map([['/sandbox/out', '/state/runs/sb-1/disk/6']]),
  protections: new Map([
    [
      '/workspace',
      {
        hold: ['.git'],
        readOnly: ['.git/hooks', '.vscode'],
        hidden: ['.env'],
        absent: ['.idea'],
        known: [],
        rebases: [],
        shut: [],
        complete: true,
      },
    ],
  ]),
};

/** One thought per line: a word that begins an operation starts a new one. */
function render(plan: Plan): string {
  const flat = (tokens: readonly unknown[]) =>
    tokens.map(token =>
      Buffer.isBuffer(token) ? (token.includes(0) ? '<arguments>' : token.toString()) : String(token),
    );
  const broken = (words: string[], starts: RegExp) =>
    words.reduce((text, word) => `${text}${starts.test(word) ? '\n  ' : ' '}${word}`, '');
  const launched = /^(out|directory|stage|tree|text|link|empty|exec|arguments)$/;
  const inside = /^(tmpfs|place|same|noexec|hold|ro|hide|rlimit|processors|watch|deadline|bridge|filter|cwd|arg|env)$/;
  return `launch${broken(flat(plan.launch), launched)}\nbwrap${broken(plan.bwrap, /^--/)}\ninit${broken(flat(plan.init), inside)}\n`;
}

it.each<[string, RunSpec, Partial<Facts>]>([
  ['root', SPEC, {}],
  [
    'user',
    SPEC,
    {
      runAs: null,
      outTmpfs: null,
      cgroup: new Set(),
      files: new Map([...FACTS.files, ['/sandbox/input.json', '/state/runs/sb-1/text-5']]),
    },
  ],
  [
    'image',
    {
      ...SPEC,
      argv: ['/app/run'],
      mounts: [],
      network: { kind: 'none' },
      runtime: { kind: 'image', name: 'app', digest: '0', root: '/images/1' },
    },
    {
      root: [{ kind: 'directory', source: '/images/1/app', at: '/app' }],
      etc: null,
      etcBinds: [],
      programs: [],
      outTmpfs: null,
    },
  ],
])('%s: the three messages are the ones reviewed', (name, spec, changes) => {
  const file = new URL(`../golden/bubblewrap-${name}.txt`, import.meta.url);
  const text = render(planRun(spec, { ...FACTS, ...changes }));
  if (process.env.SKILLBOX_UPDATE_GOLDEN) writeFileSync(file, text);
  expect(text).toBe(readFileSync(file, 'utf8'));
});

it('no secret and no host path of the run stands in what bwrap is told as root', () => {
  const { bwrap } = planRun(SPEC, FACTS);
  expect(bwrap.join(' ')).not.toMatch(/secret|\/data\/|\/home\/u|\/state\//);
});

it('refuses places that are not the spec’s', () => {
  const at = (path: string) => () =>
    checkMounts({ ...SPEC, mounts: [{ kind: 'tmpfs', at: path, bytes: 1 }] }, () => true);
  for (const path of [
    '/proc',
    '/proc/sys',
    '/sys',
    '/dev',
    '/dev/null',
    '/dev/shm/x',
    '/usr/lib',
    '/lib32/x',
    '/etc/passwd',
    '/.skillbox/helper',
  ])
    expect(at(path)).toThrow(/belongs to the sandbox/);
  for (const path of ['/dev/shm', '/workspace', '/sandbox/out', '/etcetera', '/devel/x', '/library'])
    expect(at(path)).not.toThrow();
});

it('refuses to make something appear in a bind on the host', () => {
  const mounts: RunSpec['mounts'] = [
    { kind: 'bind', source: '/home/u/work', at: '/w', writable: true, exec: true, protect: null },
    { kind: 'tmpfs', at: '/w/new', bytes: 1 },
  ];
  expect(() => checkMounts({ ...SPEC, mounts }, () => false)).toThrow(/would have to be made in \/home\/u\/work/);
  expect(() => checkMounts({ ...SPEC, mounts }, () => true)).not.toThrow();
  expect(() =>
    checkMounts({ ...SPEC, mounts: [mounts[0], mounts[0]].flatMap(mount => mount ?? []) }, () => true),
  ).toThrow(/twice/);
});

it('texts that take more pages than the launcher has become files', () => {
  const staged = (count: number, bytes: number) => {
    const texts = Array.from({ length: count }, (_, index) => ({ at: `/t/${index}`, text: 'x'.repeat(bytes) }));
    return isStaged({ ...SPEC, mounts: texts.map(text => ({ kind: 'text' as const, ...text })) });
  };
  expect([staged(100, 1), staged(1, 500_000), staged(600, 1), staged(1, 600_000)]).toEqual([true, true, false, false]);
});
