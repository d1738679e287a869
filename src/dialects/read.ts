import { SkillboxError } from '../base/index.ts';
import { CODES, type DialectName, Findings, type Folder, type Skill, sortDiagnostics } from '../skill/index.ts';
import { agentSkills } from './agent-skills.ts';
import type { Call, Dialect, Invocation, Reading, ReadOptions } from './dialect.ts';
import { gibberish } from './gibberish.ts';
import { seksbot } from './seksbot.ts';
import { skillbox } from './skillbox.ts';
import { loadSource, type Source } from './source.ts';
import { workspace } from './workspace.ts';

/** In the order in which they claim a folder: the first that recognises it reads it. */
const DIALECTS: readonly Dialect[] = [seksbot, gibberish, skillbox, workspace, agentSkills];

/** the one reader. A bad skill is never an exception: the diagnostics say what is wrong. */
export function readSkill(folder: Folder, options: ReadOptions): Reading {
  const findings = new Findings(options.mode);
  for (const problem of folder.problems) {
    findings.list.push({ ...problem, severity: CODES[problem.code][options.mode] });
  }
  const source = loadSource(folder);
  const { dialect, evidence } = choose(source, options.dialect);
  if (dialect === null || (source.document === null && dialect.name !== 'seksbot')) {
    const { documentProblem: problem } = source;
    if (problem !== null) {
      const more = problem.hint === null ? {} : { hint: problem.hint };
      findings.report(problem.code, { file: 'SKILL.md', line: 1, column: 1 }, problem.message, more);
    }
    return { dialect: dialect?.name ?? null, evidence, skill: null, diagnostics: sortDiagnostics(findings.list) };
  }
  if (dialect.name === 'seksbot' && source.manifest === null) {
    const message = 'seksbot was asked for, but there is no skill.yaml, skill.yml or skill.json';
    findings.report('manifest-missing', { file: 'skill.yaml', line: 1, column: 1 }, message);
  }
  const skill = dialect.read(source, findings, options.capabilities ?? []);
  // Files beyond the limits were not looked at, so what would run is not what was read.
  const whole = !folder.problems.some(problem => problem.code === 'folder-too-large');
  return {
    dialect: dialect.name,
    evidence,
    skill: whole ? skill : null,
    diagnostics: sortDiagnostics(findings.list),
  };
}

function choose(source: Source, asked: DialectName | null): { dialect: Dialect | null; evidence: string } {
  if (asked !== null) return { dialect: dialectOf(asked), evidence: 'asked for by name' };
  for (const dialect of DIALECTS) {
    const because = dialect.recognise(source);
    if (because !== null) return { dialect, evidence: because };
  }
  return { dialect: null, evidence: 'no SKILL.md and no manifest' };
}

function dialectOf(name: DialectName): Dialect {
  const dialect = DIALECTS.find(candidate => candidate.name === name);
  if (dialect === undefined) throw new SkillboxError('USAGE', `"${name}" is not a dialect`);
  return dialect;
}

/** The pure half of a run: what would be started for this call. */
export function invokeSkill(skill: Skill, call: Call): Invocation {
  return dialectOf(skill.dialect).invoke(skill, call);
}
