import { SkillboxError } from '../base/index.ts';
import { ALLOWED, CONDITIONAL, type ConditionalRule, REFUSED } from './syscalls.ts';
import arm64Numbers from './syscalls-arm64.json' with { type: 'json' };
import x64Numbers from './syscalls-x64.json' with { type: 'json' };

/** A classic BPF instruction, as the kernel reads it: u16 code, u8 jt, u8 jf, u32 k. */
export type Instruction = { code: number; jt: number; jf: number; k: number };

export type Architecture = 'x64' | 'arm64';

const MACHINES: Record<Architecture, { audit: number; numbers: Readonly<Record<string, number>>; x32: boolean }> = {
  x64: { audit: 0xc000003e, numbers: x64Numbers, x32: true },
  arm64: { audit: 0xc00000b7, numbers: arm64Numbers, x32: false },
};

const LD = 0x20;
const AND = 0x54;
const JEQ = 0x15;
const JGE = 0x35;
const JSET = 0x45;
const RET = 0x06;

const KILL_PROCESS = 0x80000000;
const ALLOW = 0x7fff0000;
const ERRNO = 0x00050000;
const EPERM = 1;
const ENOSYS = 38;

const NR = 0;
const ARCH = 4;
const argLow = (index: number) => 16 + 8 * index;
const X32_BIT = 0x40000000;

const load = (offset: number): Instruction => ({ code: LD, jt: 0, jf: 0, k: offset });
const ret = (value: number): Instruction => ({ code: RET, jt: 0, jf: 0, k: value });
const jump = (code: number, k: number, jt: number, jf: number): Instruction => ({ code, jt, jf, k });

/** The filter of every run. Pure: the same architecture gives the same bytes. */
export function assemble(architecture: Architecture): Instruction[] {
  const { audit, numbers, x32 } = MACHINES[architecture];
  const program: Instruction[] = [
    // Another architecture's numbers mean other calls: int 0x80 on x64 would walk past every rule below.
    load(ARCH),
    jump(JEQ, audit, 1, 0),
    ret(KILL_PROCESS),
    load(NR),
  ];
  if (x32) program.push(jump(JGE, X32_BIT, 0, 1), ret(ERRNO | ENOSYS));
  return [...program, ...choose(segmentsOf(numbers))];
}

/** The calls from this number on, up to the next segment's, and what is done with them. */
type Segment = { from: number; code: Instruction[] };

function segmentsOf(numbers: Readonly<Record<string, number>>): Segment[] {
  const codes = new Map<number, Instruction[]>();
  const set = (names: readonly string[], codeFor: (name: string) => Instruction[]) => {
    for (const name of names) {
      const number = numbers[name];
      if (number !== undefined) codes.set(number, codeFor(name));
    }
  };
  const [allowed, refused, unknown] = [ALLOW, ERRNO | EPERM, ERRNO | ENOSYS].map(value => [ret(value)]);
  set(REFUSED, () => refused ?? []);
  set(ALLOWED, () => allowed ?? []);
  set(Object.keys(CONDITIONAL), name => [...(CONDITIONAL[name] ?? []).flatMap(argumentRule), ret(ALLOW)]);
  const segments: Segment[] = [];
  for (let from = 0; from <= Math.max(...codes.keys()) + 1; from++) {
    const code = codes.get(from) ?? unknown ?? [];
    if (segments.at(-1)?.code !== code) segments.push({ from, code });
  }
  return segments;
}

/**
 * A tree, each of whose halves is as long as the other: the kernel walks through the filter for every call there is when it is
 * loaded, and from the top to the end of a list that takes it longer than a small process needs to start.
 */
function choose(segments: readonly Segment[]): Instruction[] {
  const [only, ...more] = segments;
  if (only === undefined || more.length === 0) return only?.code ?? [];
  const all = segments.reduce((sum, { code }) => sum + code.length, 0);
  let before = only.code.length;
  let middle = 1;
  for (; middle < segments.length - 1 && before < all / 2; middle++) before += segments[middle]?.code.length ?? 0;
  const [low, high] = [choose(segments.slice(0, middle)), choose(segments.slice(middle))];
  return [jump(JGE, segments[middle]?.from ?? 0, low.length, 0), ...low, ...high];
}

function argumentRule(rule: ConditionalRule): Instruction[] {
  const refuse = ret(ERRNO | rule.errno);
  const test: Instruction[] = [load(argLow(rule.arg))];
  if (rule.kind === 'any-bit') {
    // No bits at all means always.
    if (rule.bits === 0) test.push(refuse);
    else test.push(jump(JSET, rule.bits, 0, 1), refuse);
  } else if (rule.kind === 'no-bit') {
    test.push(jump(JSET, rule.bits, 1, 0), refuse);
  } else {
    if (rule.mask !== 0xffffffff) test.push({ code: AND, jt: 0, jf: 0, k: rule.mask });
    rule.values.forEach((value, index) => {
      const left = rule.values.length - index - 1;
      const last = left === 0;
      // equals: a match jumps to the refusal behind the list; not-equals: a match jumps past it.
      if (rule.kind === 'equals') test.push(jump(JEQ, value, left, last ? 1 : 0));
      else test.push(jump(JEQ, value, left + 1, 0));
    });
    test.push(refuse);
  }
  if (rule.when === undefined) return test;
  return [load(argLow(rule.when.arg)), jump(JSET, rule.when.bits, 0, test.length), ...test];
}

export function encode(program: readonly Instruction[]): Buffer {
  // Both architectures have the low byte first.
  const words = new Uint32Array(program.length * 2);
  for (const [index, { code, jt, jf, k }] of program.entries()) {
    words[index * 2] = code | (jt << 16) | (jf << 24);
    words[index * 2 + 1] = k;
  }
  return Buffer.from(words.buffer);
}

const encoded = new Map<string, Buffer>();

/** The filter for this machine; other architectures are refused, because nobody has checked their tables. */
export function filterFor(architecture: string): Buffer {
  if (architecture !== 'x64' && architecture !== 'arm64')
    throw new SkillboxError('SANDBOX_UNAVAILABLE', `There is no system call filter for ${architecture}.`, {
      hint: 'Use an x64 or arm64 machine, or the docker sandbox.',
    });
  const bytes = encoded.get(architecture) ?? encode(assemble(architecture));
  encoded.set(architecture, bytes);
  return bytes;
}

/** One instruction per line, for golden tests and for people. */
export function renderProgram(program: readonly Instruction[]): string {
  const names: Record<number, string> = {
    [LD]: 'ld',
    [AND]: 'and',
    [JEQ]: 'jeq',
    [JGE]: 'jge',
    [JSET]: 'jset',
  };
  return program
    .map(({ code, jt, jf, k }, index) => {
      const at = String(index).padStart(4);
      const hex = `0x${(k >>> 0).toString(16)}`;
      if (code === RET) return `${at} ret ${hex}`;
      if (code === LD || code === AND) return `${at} ${names[code]} ${hex}`;
      return `${at} ${names[code]} ${hex} ${index + 1 + jt} ${index + 1 + jf}`;
    })
    .join('\n');
}
