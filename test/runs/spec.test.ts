import { describe, expect, test } from 'vitest';
import type { Invocation, Mount } from '../../src/dialects/index.ts';
import { DEFAULT_LIMITS } from '../../src/runs/limits.ts';
import { type Places, toRunSpec } from '../../src/runs/spec.ts';

const around = {
  limits: DEFAULT_LIMITS.defaults,
  network: { kind: 'none' as const },
  runtime: { kind: 'host' as const, also: [] },
  tenant: null,
  requires: new Map(),
};
const places = (changes: Partial<Places> = {}): Places => ({
  skill: '/data/snapshots/x',
  skillEntries: ['SKILL.md', 'input.json', 'node_modules', 'out', 'scripts'],
  workspace: null,
  paths: [],
  compiled: new Map(),
  dependencies: new Map(),
  ...changes,
});
const invocation = (mounts: Mount[], changes: Partial<Invocation> = {}): Invocation => ({
  argv: ['python3', '/sandbox/scripts/main.py'],
  cwd: '/sandbox/out',
  env: { HOME: '/root' },
  stdin: null,
  mounts,
  timeoutMs: 1000,
  outputPath: null,
  filesPath: null,
  result: 'output-file',
  warnings: [],
  ...changes,
});
const bind = (name: string, at = `/sandbox/${name}`) =>
  expect.objectContaining({ kind: 'bind', source: `/data/snapshots/x/${name}`, at, writable: false });

const SANDBOX: Mount[] = [
  { kind: 'skill', at: '/sandbox' },
  { kind: 'text', text: '{}', at: '/sandbox/input.json' },
  { kind: 'dependencies', manager: 'npm', at: '/sandbox/node_modules' },
  { kind: 'out', at: '/sandbox/out' },
];

describe('from an invocation to a spec', () => {
  test('SB-05 what lies over an entry of the skill hides it; the others are mounted one by one, read-only', () => {
    const { mounts } = toRunSpec(
      invocation(SANDBOX),
      places({ dependencies: new Map([['npm', '/data/layers/y']]) }),
      around,
    );
    expect(mounts).toEqual([
      bind('SKILL.md'),
      bind('scripts'),
      { kind: 'text', text: '{}', at: '/sandbox/input.json' },
      expect.objectContaining({ kind: 'bind', source: '/data/layers/y', at: '/sandbox/node_modules', writable: false }),
      { kind: 'out', at: '/sandbox/out', directories: ['files'] },
    ]);
  });

  test("SB-05 without a dependency layer the skill's own node_modules stay", () => {
    const { mounts } = toRunSpec(invocation(SANDBOX), places(), around);
    expect(mounts).toContainEqual(bind('node_modules'));
    expect(mounts).not.toContainEqual(bind('out'));
    expect(mounts).not.toContainEqual(bind('input.json'));
  });

  test('a skill with more at its top than can be mounted one by one is refused, and told what to do', () => {
    const skillEntries = Array.from({ length: 129 }, (_, at) => `f${at}`);
    const refused = expect.objectContaining({ code: 'INVALID_SKILL', hint: expect.stringContaining('folders') });
    expect(() => toRunSpec(invocation(SANDBOX), places({ skillEntries }), around)).toThrow(refused);
    const whole: Mount[] = [{ kind: 'skill', at: '/skill' }];
    expect(toRunSpec(invocation(whole), places({ skillEntries }), around).mounts).toHaveLength(1);
  });

  test('WS-09 a skill that nothing lies in is mounted as a whole', () => {
    const { mounts } = toRunSpec(invocation([{ kind: 'skill', at: '/skill' }]), places(), around);
    expect(mounts).toEqual([expect.objectContaining({ source: '/data/snapshots/x', at: '/skill', writable: false })]);
  });

  test('WS-09/WS-10 a workspace is the folder itself, protected; without one it is an empty private one', () => {
    const mount: Mount = { kind: 'workspace', at: '/workspace', writable: true };
    expect(toRunSpec(invocation([mount]), places({ workspace: '/home/u/p' }), around).mounts).toEqual([
      {
        kind: 'bind',
        source: '/home/u/p',
        at: '/workspace',
        writable: true,
        exec: true,
        protect: { reveal: [], unlock: [] },
      },
    ]);
    expect(toRunSpec(invocation([mount]), places(), around).mounts).toEqual([
      { kind: 'out', at: '/workspace', directories: [] },
    ]);
  });

  test('GB-11 a tool without a repository works in its home directory, which is private', () => {
    const mounts: Mount[] = [{ kind: 'workspace', at: '/workspace', writable: false }];
    const tool = invocation(mounts, { result: 'envelope', cwd: '/workspace' });
    expect(toRunSpec(tool, places(), around).env.HOME).toBe('/workspace');
    expect(toRunSpec(tool, places({ workspace: '/p' }), around).env.HOME).toBe('/root');
    expect(toRunSpec(invocation(mounts, { result: 'streams' }), places(), around).env.HOME).toBe('/root');
  });

  test('WS-02 compiled TypeScript lies where the invocation says; what was not compiled is not mounted', () => {
    const mounts: Mount[] = [{ kind: 'compiled', path: 'scripts/a.ts', at: '/skillbox/compiled/scripts/a.mjs' }];
    const compiled = new Map([['scripts/a.ts', '/data/compiled/a.mjs']]);
    expect(toRunSpec(invocation(mounts), places({ compiled }), around).mounts).toEqual([
      expect.objectContaining({
        source: '/data/compiled/a.mjs',
        at: '/skillbox/compiled/scripts/a.mjs',
        writable: false,
      }),
    ]);
    expect(toRunSpec(invocation(mounts), places(), around).mounts).toEqual([]);
  });

  test('SB-07 a Python layer is on the path, set by us', () => {
    const mounts: Mount[] = [{ kind: 'dependencies', manager: 'pip', at: '/sandbox/site-packages' }];
    expect(
      toRunSpec(invocation(mounts), places({ dependencies: new Map([['pip', '/l']]) }), around).env.PYTHONPATH,
    ).toBe('/sandbox/site-packages');
    expect(toRunSpec(invocation(mounts), places(), around).env).not.toHaveProperty('PYTHONPATH');
  });
});
