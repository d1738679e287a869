/**
 * For a process that ends within a second. Nearly everything that a scan makes is kept to its end, so V8 would copy it with several
 * threads that mostly wait, and would look through all of it, beside us, for what can go, which is next to nothing; and code that it
 * takes the time to optimise to the last has no time left to make up for it. What it does in threads takes the processors from the
 * program that looks ahead. The room for new objects grows, but not as fast as it would: every page of it has to be given and taken back.
 */
const LEFT_OUT = [
  'parallel-scavenge',
  'incremental-marking',
  'concurrent-marking',
  'concurrent-sweeping',
  'concurrent-recompilation',
  'opt',
];

let isExpected = false;

export function expectShortLife(): void {
  isExpected = true;
  setFlag('--semi-space-growth-factor=2');
  for (const flag of LEFT_OUT) setFlag(`--no-${flag}`);
}

/** From here on nothing runs beside this process: threads that copy what is kept have a processor to do it on. */
export function useOtherProcessors(): void {
  if (isExpected) setFlag('--parallel-scavenge');
}

/** At the end: V8 takes no code that it made with other flags than those of a new process (`code-cache`). */
export function endShortLife(): void {
  for (const flag of LEFT_OUT) setFlag(`--${flag}`);
}

function setFlag(flag: string): void {
  process.getBuiltinModule('node:v8').setFlagsFromString(flag);
}
