import { resolve } from 'node:path';
import { EXIT, renderSize, SkillboxError, shape } from '../../base/index.ts';
import type { Published } from '../../service/index.ts';
import type { Diagnostic } from '../../skill/index.ts';
import type { Command, Input } from '../command.ts';
import { withService } from '../connect.ts';
import type { Io } from '../io.ts';
import { SERVER_OPTION } from '../on-server.ts';
import { withPacked } from '../pack-skill.ts';
import { renderDiagnostic } from '../render-diagnostics.ts';

export const skillPush: Command = {
  name: 'skill push',
  summary: 'Publish a skill. A version is published once and never changes.',
  args: [{ name: 'PATH', help: 'the skill: a folder, or a zip of it', required: true, many: false }],
  options: {
    tag: { help: 'a tag for this version', value: 'T', many: true },
    version: { help: 'the version, where the skill has none', value: 'SEMVER' },
    ...SERVER_OPTION,
    json: { help: 'print one JSON document' },
  },
  examples: ['skillbox skill push ./my-skill', 'skillbox skill push my-skill-1.2.0.zip --tag stable'],
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const path = resolve(io.cwd, input.args[0] ?? '.');
  const options = { tags: input.values('tag'), version: input.value('version') };
  try {
    const published = await withPacked(path, archive =>
      withService(input, io, ({ skills }) => skills.publish(archive, options)),
    );
    await report(published, input, io);
    return EXIT.ok;
  } catch (error) {
    if (!input.flag('json')) tellFaults(error, io);
    throw error;
  }
}

async function report(published: Published, input: Input, io: Io): Promise<void> {
  if (input.flag('json')) {
    const { toPublished } = await import('../../wire/index.ts');
    io.out(`${JSON.stringify(toPublished(published), null, 2)}\n`);
    return;
  }
  const { skill, created, warnings } = published;
  for (const warning of warnings) io.err(renderDiagnostic(warning, null, io.paint));
  const what = created ? 'published' : 'was there already, with this very content';
  io.out(`${skill.name} ${skill.version} ${what}\n  ${renderSize(skill.archive.bytes)}\n  ${skill.digest}\n`);
  if (skill.yanked !== null) io.err('It is withdrawn; skillbox skill yank --undo offers it again.\n');
}

/** What is wrong with the skill, as lint shows it. */
function tellFaults(error: unknown, io: Io): void {
  const found = error instanceof SkillboxError ? error.details.diagnostics : null;
  if (!Array.isArray(found)) return;
  for (const each of found) {
    if (FAULT(each, '') === null) io.err(renderDiagnostic(each as Diagnostic, null, io.paint));
  }
}

/** What is shown of a finding; a server said it. */
const FAULT = shape.fields<Omit<Diagnostic, 'fix' | 'code'> & { code: string }>({
  code: shape.word,
  severity: shape.oneOf(['error', 'warning', 'info']),
  message: shape.text,
  file: shape.text,
  line: shape.count,
  column: shape.count,
  hint: shape.text,
});
