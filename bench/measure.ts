import { spawn } from 'node:child_process';

/** What every bench shares: medians, tables, and an environment without what slows Node's own start. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function printTable(title: string, head: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`);
  process.stdout.write(`\n### ${title}\n\n${lines.join('\n')}\n`);
}

/** NODE_EXTRA_CA_CERTS costs every start tens of milliseconds; it has no place in a figure. */
export function quiet(): NodeJS.ProcessEnv {
  const { NODE_EXTRA_CA_CERTS: _left, NODE_OPTIONS: _out, ...env } = process.env;
  return { ...env, NO_COLOR: '1' };
}

/** A program from its start to its end; it must go well. */
export function ended([command = '', ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.resume();
    child.stderr.resume();
    child.on('error', reject);
    child.on('close', code => (code === 0 ? resolve() : reject(new Error(`${command} ended with ${code}`))));
  });
}
