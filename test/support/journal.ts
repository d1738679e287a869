import type { Skillbox } from '../../src/app.ts';

export type Line = { type: string; subject: string | null; data: Record<string, unknown> };

/** The journal's lines about a run, or all of them, the oldest first. */
export async function journalOf(skillbox: Skillbox, subject: string | null = null): Promise<Line[]> {
  const lines: Line[] = [];
  const filter = { types: null, subject, sinceMs: null, untilMs: null, tenants: null, beforeSeq: null };
  for await (const { line } of skillbox.audit.export(filter)) lines.push(JSON.parse(line) as Line);
  return lines;
}
