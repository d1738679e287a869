import { EXIT, type JsonObject, shape, visible } from '../../base/index.ts';
import type { Io } from '../io.ts';
import { readAs } from './read-as.ts';

type Plan = {
  argv: string[];
  cwd: string;
  env: string[];
  limits: Record<string, number>;
  network: string;
  runtime: string;
  decision: { verdict: string; reasons: string[] };
  warnings: string[];
  /** Older servers tell none. */
  notes?: string[] | undefined;
};

const { fields, listOf, mapOf, number, optional, text } = shape;
const PLAN = fields<Plan>({
  argv: listOf(text),
  cwd: text,
  env: listOf(text),
  limits: mapOf(number),
  network: text,
  runtime: text,
  decision: fields<Plan['decision']>({ verdict: text, reasons: listOf(text) }),
  warnings: listOf(text),
  notes: optional(listOf(text)),
});

/** What would run on the server, and what its policy says to it. */
export function showRemotePlan(plan: JsonObject, json: boolean, io: Io): number {
  if (json) io.out(`${JSON.stringify(plan, null, 2)}\n`);
  else {
    const { argv, cwd, env, limits, network, runtime, decision, warnings, notes = [] } = readAs(PLAN, plan);
    const lines = [
      `would run: ${argv.map(word => JSON.stringify(word)).join(' ')}`,
      `in: ${cwd}`,
      `variables: ${env.join(', ')}`,
      `limits: ${Object.entries(limits)
        .map(([name, value]) => `${name} ${value}`)
        .join(', ')}`,
      `network: ${network}`,
      `runtime: ${runtime}`,
      `decision: ${decision.verdict} (${decision.reasons.join(' ')})`,
      ...warnings.map(warning => `warning: ${warning}`),
      ...notes.map(note => `note: ${note}`),
    ];
    io.out(`${lines.map(visible).join('\n')}\n`);
  }
  return EXIT.ok;
}
