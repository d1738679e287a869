import { SkillboxError, visibleLine } from '../base/index.ts';
import { readSkill } from '../dialects/index.ts';
import { type Diagnostic, digestFolder, type Folder, openArchive, type Skill, versionOf } from '../skill/index.ts';
import type { RegistryLimits } from './limits.ts';
import { requireVersion, whyNoName } from './names.ts';

export type Rules = {
  limits: RegistryLimits;
  /** SB-03: whether a skill that runs in this image may be published. */
  allowsImage: (image: string) => boolean;
  /** Of the operator's own providers. */
  capabilities: () => readonly string[] | Promise<readonly string[]>;
};

export type Accepted = { skill: Skill; folder: Folder; version: string; digest: string; warnings: Diagnostic[] };

/** A skill may have thousands of faults; whoever reads the answer mends the first ones first. */
const MAX_DIAGNOSTICS = 100;
const MAX_MESSAGE = 500;

/** Opens the archive and hands it on when it may be published: whole, without an error of strict reading, under a name and version. */
export async function withAccepted<T>(
  path: string,
  given: string | null,
  { limits, allowsImage, capabilities }: Rules,
  body: (accepted: Accepted) => Promise<T>,
): Promise<T> {
  const folder = await openArchive(path, { maxFiles: limits.maxFiles, maxBytes: limits.maxBytes });
  try {
    const options = { mode: 'strict', dialect: null, capabilities: await capabilities() } as const;
    const { skill, diagnostics } = readSkill(folder, options);
    // Whether an image is allowed is the operator's to say, not lint's, which knows only the default ones.
    const told = diagnostics.filter(({ code }) => code !== 'image-not-allowed').map(cutMessage);
    const errors = told.filter(({ severity }) => severity === 'error');
    if (skill === null || errors.length > 0) throw invalid(errors);
    checkSkillName(skill.name);
    checkImage(skill.needs.image, allowsImage);
    const version = requireVersion(versionOf(skill, given));
    const warnings = told.slice(0, MAX_DIAGNOSTICS);
    return await body({ skill, folder, version, digest: await digestFolder(folder), warnings });
  } finally {
    folder.close();
  }
}

function invalid(errors: readonly Diagnostic[]): SkillboxError {
  const [first] = errors;
  const many = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  const what = first === undefined ? 'it is no skill' : `${first.file}:${first.line}: ${first.message}${many}`;
  return new SkillboxError('INVALID_SKILL', `the skill is not published: ${what}`, {
    details: { diagnostics: errors.slice(0, MAX_DIAGNOSTICS) },
  });
}

function cutMessage(diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, message: visibleLine(diagnostic.message, MAX_MESSAGE) };
}

function checkSkillName(name: string): void {
  const why = whyNoName(name);
  if (why === null) return;
  throw new SkillboxError('INVALID_SKILL', `the skill is not published: ${why}`, { details: { diagnostics: [] } });
}

function checkImage(image: string | null, allowsImage: Rules['allowsImage']): void {
  if (image === null || allowsImage(image)) return;
  const shown = visibleLine(image, 120);
  throw new SkillboxError('IMAGE_NOT_ALLOWED', `the image "${shown}" is not one that skills may run in here`, {
    details: { image: shown },
  });
}
