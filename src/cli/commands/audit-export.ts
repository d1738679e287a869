import { resolve } from 'node:path';
import { type Entry, type EntryFilter, type Skillbox, toOtel } from '../../app.ts';
import { EXIT } from '../../base/index.ts';
import { FILTER_OPTIONS, readFilter } from '../audit-filter.ts';
import type { Command } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import { VERSION } from '../version.ts';
import { writeAside } from '../write-aside.ts';

/** How many log records go into one line for a collector. */
const BATCH = 100;

export const auditExport: Command = {
  name: 'audit export',
  summary: 'Print the journal as JSON Lines, the oldest entry first, with the sealed files.',
  args: [],
  options: {
    ...FILTER_OPTIONS,
    otel: { help: 'as OpenTelemetry log records (OTLP/JSON), a batch on each line' },
    output: { help: 'write to this file instead', value: 'FILE', short: 'o' },
  },
  examples: ['skillbox audit export -o journal.jsonl', 'skillbox audit export --otel --since 24h'],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const filter = await readFilter(input, skillbox);
      const lines = input.flag('otel') ? otelLines(skillbox, filter) : plainLines(skillbox, filter);
      const path = input.value('output');
      if (path === null) for await (const line of lines) io.out(line);
      else await writeAside(resolve(io.cwd, path), file => file.writeFile(lines));
      return EXIT.ok;
    }),
};

async function* plainLines(skillbox: Skillbox, filter: EntryFilter): AsyncGenerator<string> {
  for await (const { line } of skillbox.audit.export(filter)) yield `${line}\n`;
}

async function* otelLines(skillbox: Skillbox, filter: EntryFilter): AsyncGenerator<string> {
  let batch: Entry[] = [];
  const render = () => `${JSON.stringify(toOtel(batch, VERSION))}\n`;
  for await (const { entry } of skillbox.audit.export(filter)) {
    batch.push(entry);
    if (batch.length < BATCH) continue;
    yield render();
    batch = [];
  }
  if (batch.length > 0) yield render();
}
