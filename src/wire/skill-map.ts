import type { Published, SkillDetail, SkillTool, SkillVersion } from '../service/index.ts';
import type { DiffLine, FileChange, SkillDiff } from '../skill/index.ts';
import type { DiffAnswer, PublishedAnswer, SkillAnswer, SkillDetailAnswer, ToolAnswer } from './skill.ts';
import { fromTime, toTime } from './times.ts';

export function toSkill(skill: SkillVersion): SkillAnswer {
  const published = toTime(skill.publishedAt);
  return {
    name: skill.name,
    version: skill.version,
    description: skill.description,
    dialect: skill.dialect,
    digest: skill.digest,
    archive: { sha256: skill.archive.sha256, size: skill.archive.bytes },
    status: skill.yanked === null ? 'available' : 'yanked',
    published_at: published,
    published_by: skill.publishedBy,
    uploaded_at: published,
    yanked: skill.yanked === null ? null : { at: toTime(skill.yanked.at), reason: skill.yanked.reason },
    tags: skill.tags,
  };
}

export function fromSkill(answer: SkillAnswer): SkillVersion {
  return {
    name: answer.name,
    version: answer.version,
    description: answer.description,
    dialect: answer.dialect,
    digest: answer.digest,
    archive: { sha256: answer.archive.sha256, bytes: answer.archive.size },
    publishedAt: fromTime(answer.published_at),
    publishedBy: answer.published_by,
    yanked: answer.yanked === null ? null : { at: fromTime(answer.yanked.at), reason: answer.yanked.reason },
    tags: answer.tags,
  };
}

export function toSkillDetail(skill: SkillDetail): SkillDetailAnswer {
  return {
    ...toSkill(skill),
    instructions: skill.instructions,
    ...(skill.lang === null ? {} : { lang: skill.lang }),
    ...(skill.image === null ? {} : { image: skill.image }),
    tools: skill.tools.map(toTool),
    scripts: skill.scripts,
    files: skill.files.map(({ path, bytes }) => ({ path, size: bytes })),
    needs: skill.needs,
  };
}

function toTool({ name, description, parameters, readOnly, alwaysAsk }: SkillTool): ToolAnswer {
  const schema = parameters as ToolAnswer['parameters'];
  return { name, description, parameters: schema, read_only: readOnly, always_ask: alwaysAsk };
}

function fromTool({ name, description, parameters, read_only, always_ask }: ToolAnswer): SkillTool {
  return { name, description, parameters, readOnly: read_only, alwaysAsk: always_ask };
}

export function fromSkillDetail(answer: SkillDetailAnswer): SkillDetail {
  return {
    ...fromSkill(answer),
    instructions: answer.instructions,
    lang: answer.lang ?? null,
    image: answer.image ?? null,
    tools: answer.tools.map(fromTool),
    scripts: answer.scripts,
    files: answer.files.map(({ path, size }) => ({ path, bytes: size })),
    needs: answer.needs,
  };
}

export function toPublished({ skill, created, warnings }: Published): PublishedAnswer {
  return { ...toSkill(skill), created, warnings };
}

export function fromPublished(answer: PublishedAnswer): Published {
  // A newer server may know codes that this client does not.
  return { skill: fromSkill(answer), created: answer.created, warnings: answer.warnings as Published['warnings'] };
}

const OPS = { same: ' ', added: '+', removed: '-' } as const;
const KINDS = { ' ': 'same', '+': 'added', '-': 'removed' } as const;
type FileAnswer = DiffAnswer['files'][number];

export function toDiff(name: string, from: string, to: string, diff: SkillDiff): DiffAnswer {
  return { name, from, to, equal: diff.equal, fields: diff.fields, files: diff.files.map(toFileChange) };
}

function toFileChange({ path, change, before, after, content }: FileChange): FileAnswer {
  const hunks = content.kind === 'text' ? content.hunks : [];
  return {
    path,
    status: change,
    before,
    after,
    content: content.kind,
    minimal: content.kind === 'text' ? content.minimal : true,
    hunks: hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => ({
      old_start: oldStart,
      old_lines: oldLines,
      new_start: newStart,
      new_lines: newLines,
      count: lines.length,
    })),
    lines: hunks.flatMap(({ lines }) => lines.map(({ kind, text, ended }) => ({ op: OPS[kind], text, ended }))),
  };
}

export function fromDiff({ equal, fields, files }: DiffAnswer): SkillDiff {
  return { equal, fields, files: files.map(fromFileChange) };
}

function fromFileChange({ path, status, before, after, content, minimal, hunks, lines }: FileAnswer): FileChange {
  if (content !== 'text') return { path, change: status, before, after, content: { kind: content } };
  let at = 0;
  const whole = hunks.map(hunk => {
    const own = lines.slice(at, at + hunk.count);
    at += hunk.count;
    return {
      oldStart: hunk.old_start,
      oldLines: hunk.old_lines,
      newStart: hunk.new_start,
      newLines: hunk.new_lines,
      lines: own.map(({ op, text, ended }): DiffLine => ({ kind: KINDS[op], text, ended })),
    };
  });
  return { path, change: status, before, after, content: { kind: 'text', hunks: whole, minimal } };
}
