/**
 * For a process that ends within a second. Nearly everything that a scan makes is kept to its end, so V8 would copy it with several
 * threads that mostly wait, and would look through all of it, beside us, for what can go, which is next to nothing; and code that it
 * takes the time to optimise to the last has no time left to make up for it. What it does in threads takes the processors from the
 * program that looks ahead. The room for new objects grows, but not as fast as it would: every page of it has to be given and taken back.
 */
const FLAGS = [
  '--semi-space-growth-factor=2',
  '--no-parallel-scavenge',
  '--no-incremental-marking',
  '--no-concurrent-marking',
  '--no-concurrent-sweeping',
  '--no-concurrent-recompilation',
  '--no-opt',
];

let isExpected = false;

export function expectShortLife(): void {
  isExpected = true;
  for (const flag of FLAGS) setFlag(flag);
}

/** From here on nothing runs beside this process: threads that copy what is kept have a processor to do it on. */
export function useOtherProcessors(): void {
  if (isExpected) setFlag('--parallel-scavenge');
}

function setFlag(flag: string): void {
  process.getBuiltinModule('node:v8').setFlagsFromString(flag);
}
