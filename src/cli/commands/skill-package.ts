import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXIT, renderSize, SkillboxError } from '../../base/index.ts';
import { readSkill } from '../../dialects/index.ts';
import {
  DIALECTS,
  type Diagnostic,
  type DialectName,
  type Folder,
  openFolder,
  versionOf,
  writeArchive,
} from '../../skill/index.ts';
import type { Command, Input } from '../command.ts';
import type { Io } from '../io.ts';
import { renderDiagnostic } from '../render-diagnostics.ts';

export const skillPackage: Command = {
  name: 'skill package',
  summary: 'Pack a skill into NAME-VERSION.zip: the same bytes for the same content, on any machine.',
  args: [{ name: 'DIR', help: 'the skill: a folder, or a zip to pack anew', required: true, many: false }],
  options: {
    output: { help: 'where to write; a directory gets NAME-VERSION.zip', value: 'FILE', short: 'o' },
    version: { help: 'the version in the file name, where the skill has none', value: 'SEMVER' },
    dialect: { help: 'read as this dialect instead of recognising it', value: 'D', choices: DIALECTS },
    json: { help: 'print one JSON document' },
  },
  examples: ['skillbox skill package ./my-skill', 'skillbox skill package ./my-skill -o dist/my-skill.zip'],
  run,
};

async function run(input: Input, io: Io): Promise<number> {
  const folder = await openFolder(resolve(io.cwd, input.args[0] ?? '.'));
  try {
    const reading = readSkill(folder, { mode: 'strict', dialect: input.value('dialect') as DialectName | null });
    const errors = reading.diagnostics.filter(({ severity }) => severity === 'error');
    if (reading.skill === null || errors.length > 0) return refuse(errors, input, io);
    const version = versionOf(reading.skill, input.value('version'));
    const path = chooseOutput(input.value('output'), `${reading.skill.name}-${version}.zip`, io.cwd);
    const { bytes, digest } = await write(folder, path);
    const result = {
      path,
      name: reading.skill.name,
      version,
      dialect: reading.dialect,
      bytes,
      files: folder.files.length,
      digest,
    };
    if (input.flag('json')) io.out(`${JSON.stringify(result, null, 2)}\n`);
    else io.out(`${path}\n  ${result.files} files, ${renderSize(bytes)}\n  ${digest}\n`);
    return EXIT.ok;
  } finally {
    folder.close();
  }
}

function refuse(errors: readonly Diagnostic[], input: Input, io: Io): number {
  const error = new SkillboxError(
    'INVALID_SKILL',
    `the skill has ${errors.length} error${errors.length === 1 ? '' : 's'} and is not packed`,
    {
      details: { diagnostics: errors },
    },
  );
  if (!input.flag('json')) for (const diagnostic of errors) io.err(renderDiagnostic(diagnostic, null, io.paint));
  throw error;
}

function chooseOutput(given: string | null, name: string, cwd: string): string {
  if (given === null) return resolve(cwd, name);
  const path = resolve(cwd, given);
  const isDirectory = given.endsWith('/') || (existsSync(path) && statSync(path).isDirectory());
  return isDirectory ? join(path, name) : path;
}

async function write(folder: Folder, path: string): Promise<{ bytes: number; digest: string }> {
  return writeArchive(folder, path);
}
