import { isObject, type JsonObject, type JsonValue } from '../base/index.ts';
import { toolSchema } from '../dialects/index.ts';
import type { SkillDetail, SkillVersion } from '../service/index.ts';
import type { Folder, Skill } from '../skill/index.ts';

/** Words beyond this say nothing new about what a skill is for. */
const MAX_TEXT = 64 * 1024;

type Manifest = Omit<SkillDetail, keyof SkillVersion>;

/** What a caller needs to know of a skill without its zip. */
export function manifestOf(skill: Skill, folder: Folder): JsonObject {
  const manifest: Manifest = {
    instructions: skill.instructions,
    lang: skill.main?.language ?? null,
    image: skill.needs.image,
    tools: skill.tools.map(tool => ({
      name: tool.name,
      description: tool.description,
      parameters: toolSchema(tool),
      readOnly: skill.needs.readOnly,
      alwaysAsk: skill.needs.alwaysAsk,
    })),
    scripts: skill.scripts.map(({ path }) => path),
    files: folder.files.map(({ path, size }) => ({ path, bytes: size })),
    needs: { network: skill.needs.network, secrets: [...skill.needs.secrets] },
  };
  return manifest as unknown as JsonObject;
}

/** Back from a row. Fields that an older Skillbox did not write are empty, and mean the least power. */
export function readManifest(manifest: JsonObject): Manifest {
  const needs = isObject(manifest.needs) ? manifest.needs : {};
  return {
    instructions: textOr(manifest.instructions, ''),
    lang: textOr(manifest.lang, null),
    image: textOr(manifest.image, null),
    tools: list(manifest.tools).filter(isObject).map(toTool),
    scripts: list(manifest.scripts).filter(isText),
    files: list(manifest.files)
      .filter(isObject)
      .map(({ path, bytes }) => ({ path: textOr(path, ''), bytes: typeof bytes === 'number' ? bytes : 0 })),
    needs: { network: textOr(needs.network, 'none'), secrets: list(needs.secrets).filter(isText) },
  };
}

function toTool({ name, description, parameters, readOnly, alwaysAsk }: JsonObject): Manifest['tools'][number] {
  return {
    name: textOr(name, ''),
    description: textOr(description, ''),
    parameters: isObject(parameters) ? parameters : {},
    readOnly: readOnly === true,
    alwaysAsk: alwaysAsk !== false,
  };
}

/** What a search looks through: as far as it is text that every store can keep. */
export function searchText({ instructions, tools, about }: Skill): string {
  const words = [...about.tags, about.author ?? '', ...tools.map(tool => `${tool.name} ${tool.description}`)];
  return keepable([...words, instructions].join('\n').slice(0, MAX_TEXT));
}

/** PostgreSQL keeps no NUL, and half a surrogate pair is no text anywhere. */
export function keepable(text: string): string {
  return text.replaceAll('\0', ' ').toWellFormed();
}

function list(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function isText(value: JsonValue): value is string {
  return typeof value === 'string';
}

function textOr<T>(value: JsonValue | undefined, fallback: T): string | T {
  return typeof value === 'string' ? value : fallback;
}
