import { SkillboxError } from '../base/index.ts';
import { type Enforces, GUARANTEES, type Guarantee, type Level, type Problem, type Sandbox } from './sandbox.ts';

/** One driver as `doctor` shows it. */
export type Diagnosis = {
  driver: string;
  usable: boolean;
  enforces: Enforces;
  problems: readonly Problem[];
};

/** Every driver, really probed. */
export function diagnose(drivers: readonly Sandbox[]): Promise<Diagnosis[]> {
  return Promise.all(
    drivers.map(async driver => {
      const problems = await driver.check();
      return {
        driver: driver.name,
        usable: !problems.some(problem => problem.fatal),
        enforces: new Map(driver.enforces),
        problems,
      };
    }),
  );
}

/** Guarantee by guarantee, what each driver holds: the table of `doctor` and of SECURITY.md. */
export function tabulate(diagnoses: readonly Diagnosis[]): { guarantee: Guarantee; levels: Level[] }[] {
  return GUARANTEES.map(guarantee => ({
    guarantee,
    levels: diagnoses.map(({ usable, enforces }) => (usable ? (enforces.get(guarantee) ?? 'none') : 'none')),
  }));
}

/**
 * The first usable driver, in the order given: strongest first. One that is named is that one or nothing; `process` is
 * never come upon by falling down the list, only by its name.
 */
export async function chooseSandbox(drivers: readonly Sandbox[], named: string | null): Promise<Sandbox> {
  const candidates = drivers.filter(driver => (named === null ? driver.name !== 'process' : driver.name === named));
  if (candidates.length === 0)
    throw new SkillboxError(
      'SANDBOX_UNAVAILABLE',
      named === null ? 'No sandbox is configured.' : `There is no sandbox named ${named}.`,
      {
        hint: `The sandboxes are: ${drivers.map(driver => driver.name).join(', ')}.`,
      },
    );
  const reasons: string[] = [];
  let hint: string | null = null;
  for (const driver of candidates) {
    const fatal = (await driver.problems()).find(problem => problem.fatal);
    if (fatal === undefined) return driver;
    reasons.push(`${driver.name}: ${fatal.what}`);
    hint ??= fatal.fix;
  }
  throw new SkillboxError('SANDBOX_UNAVAILABLE', `No sandbox can be used here (${reasons.join('; ')}).`, {
    ...(hint === null ? {} : { hint }),
    details: { reasons },
  });
}
