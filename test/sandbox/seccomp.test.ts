import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  type Architecture,
  assemble,
  encode,
  filterFor,
  type Instruction,
  renderProgram,
} from '../../src/sandbox/seccomp.ts';
import { ALLOWED, CONDITIONAL, REFUSED } from '../../src/sandbox/syscalls.ts';
import arm64 from '../../src/sandbox/syscalls-arm64.json' with { type: 'json' };
import x64 from '../../src/sandbox/syscalls-x64.json' with { type: 'json' };

const TABLES: Record<Architecture, Record<string, number>> = { x64, arm64 };
const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7, i386: 0x40000003 };
const ALLOW = 'allow';

/** A classic BPF machine, as small as the filter needs. */
function judge(program: Instruction[], nr: number, arch: number, args: number[] = []): string {
  const word = (offset: number) => {
    if (offset === 0) return nr;
    if (offset === 4) return arch;
    return args[(offset - 16) / 8] ?? 0;
  };
  let accumulator = 0;
  for (let at = 0; at < program.length; at++) {
    const step = program[at];
    if (step === undefined) break;
    const { code, jt, jf, k } = step;
    if (code === 0x20) accumulator = word(k) >>> 0;
    else if (code === 0x54) accumulator = (accumulator & k) >>> 0;
    else if (code === 0x06) return k === 0x7fff0000 ? ALLOW : k === 0x80000000 ? 'kill' : `errno ${k & 0xffff}`;
    else {
      const yes =
        code === 0x15
          ? accumulator === k >>> 0
          : code === 0x25
            ? accumulator > k
            : code === 0x35
              ? accumulator >= k
              : (accumulator & k) !== 0;
      at += yes ? jt : jf;
    }
  }
  throw new Error('ran off the end');
}

for (const architecture of ['x64', 'arm64'] as const) {
  const program = assemble(architecture);
  const table = TABLES[architecture];
  const call = (name: string, ...args: number[]) => judge(program, table[name] ?? -1, AUDIT[architecture], args);

  it(`${architecture}: the filter is the one reviewed`, () => {
    const file = new URL(`../golden/seccomp-${architecture}.txt`, import.meta.url);
    const text = `${renderProgram(program)}\n`;
    if (process.env.SKILLBOX_UPDATE_GOLDEN) writeFileSync(file, text);
    expect(text).toBe(readFileSync(file, 'utf8'));
    expect(encode(program).length).toBe(program.length * 8);
    expect(
      program.every(
        ({ jt, jf }, index) => index + jt < program.length && index + jf < program.length && jt < 256 && jf < 256,
      ),
    ).toBe(true);
  });

  it(`${architecture}: every call in the table has exactly the verdict of its list`, () => {
    for (const name of Object.keys(table)) {
      if (name in CONDITIONAL) continue;
      const wanted = ALLOWED.includes(name) ? ALLOW : REFUSED.includes(name) ? 'errno 1' : 'errno 38';
      expect(`${name}: ${call(name)}`).toBe(`${name}: ${wanted}`);
    }
    expect(judge(program, 9999, AUDIT[architecture])).toBe('errno 38');
  });

  it(`${architecture}: a number that no call has, between others or beyond them, is unknown`, () => {
    const named = new Set(Object.values(table));
    const near = Array.from({ length: 2000 }, (_, number) => number).filter(number => !named.has(number));
    const far = [0x3fffffff, 0x40000000, 0x40000001, 0x40000201, 0x7fffffff, 0x80000000, 0xffffffff];
    for (const number of [...near, ...far])
      expect(`${number}: ${judge(program, number, AUDIT[architecture])}`).toBe(`${number}: errno 38`);
  });

  it(`${architecture}: another architecture's numbers kill`, () => {
    expect(judge(program, 20, AUDIT.i386)).toBe('kill');
    expect(judge(program, 20, architecture === 'x64' ? AUDIT.arm64 : AUDIT.x64)).toBe('kill');
  });

  it(`${architecture}: arguments decide`, () => {
    expect(call('clone', 0x11)).toBe(ALLOW);
    for (const flag of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000])
      expect(call('clone', flag | 0x11)).toBe('errno 1');
    expect(call('clone3', 0)).toBe('errno 38');
    for (const family of [1, 2, 10]) expect(call('socket', family, 0x80801, 0)).toBe(ALLOW);
    for (const family of [0, 3, 16, 17, 38, 40, 44]) expect(call('socket', family, 1, 0)).toBe('errno 97');
    expect(call('socket', 2, 3, 0)).toBe('errno 94');
    expect(call('socket', 2, 1, 262)).toBe('errno 93');
    expect(call('socketpair', 1, 1, 0)).toBe(ALLOW);
    expect(call('socketpair', 2, 1, 0)).toBe('errno 97');
    expect(call('ioctl', 0, 0x5401)).toBe(ALLOW);
    for (const request of [0x5412, 0x541c]) expect(call('ioctl', 0, request)).toBe('errno 1');
    expect(call('personality', 0xffffffff)).toBe(ALLOW);
    expect(call('personality', 0x40000)).toBe('errno 1');
    expect(call('memfd_create', 0, 1)).toBe('errno 38');
    expect(call('memfd_create', 0, 9)).toBe(ALLOW);
    expect(call('fchmodat', 0, 0, 0o755)).toBe(ALLOW);
    expect(call('fchmodat', 0, 0, 0o4755)).toBe('errno 1');
    expect(call('openat', 0, 0, 0, 0o4755)).toBe(ALLOW);
    expect(call('openat', 0, 0, 0o101, 0o4755)).toBe('errno 1');
    expect(call('openat', 0, 0, 0o101, 0o644)).toBe(ALLOW);
    expect(call('mknodat', 0, 0, 0o010644)).toBe(ALLOW);
    for (const type of [0o020000, 0o060000]) expect(call('mknodat', 0, 0, type | 0o644)).toBe('errno 1');
  });
}

it('x32 numbers are refused', () => {
  expect(judge(assemble('x64'), 0x40000000 | x64.read, AUDIT.x64)).toBe('errno 38');
});

it('names every call once, and only calls that exist', () => {
  const all = [...ALLOWED, ...REFUSED, ...Object.keys(CONDITIONAL)];
  expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
  const known = new Set([...Object.keys(x64), ...Object.keys(arm64)]);
  expect(all.filter(name => !known.has(name))).toEqual([]);
});

it('refuses machines that nobody has a table for', () => {
  expect(() => filterFor('riscv64')).toThrow(/no system call filter for riscv64/);
});
