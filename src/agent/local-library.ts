import { StringDecoder } from 'node:string_decoder';
import type { RunHooks, Skillbox } from '../app.ts';
import { isId, SkillboxError, visibleLine } from '../base/index.ts';
import { activateSkill, activationEvent, type KnownSkill } from '../catalog/index.ts';
import { readSkill } from '../dialects/index.ts';
import { digestFolder, type Folder, openFolder, type Skill } from '../skill/index.ts';
import { checkExtension, READ_BYTES } from '../workspace/index.ts';
import type { Library } from './library.ts';
import { type LogReader, reportRun, WORDS_HERE } from './run-report.ts';
import { toRequest } from './run-target.ts';
import type { Shelf } from './shelf.ts';
import type { CallContext } from './tool.ts';

const COPY = 'copy_skill_file brings it into the workspace';

/** The skills of this machine, for its user. */
export function createLocalLibrary(
  skillbox: Skillbox,
  shelf: Shelf<KnownSkill>,
  env: Readonly<Record<string, string>>,
): Library {
  const known = async (name: string): Promise<KnownSkill> => {
    const { byName, skills } = await shelf.offered();
    return byName.get(name) ?? missing(name, skills.length);
  };
  const readLogs = logsOf(skillbox);
  return {
    async activate(name, had, client) {
      const { realFolder } = await known(name);
      const folder = await openFolder(realFolder);
      try {
        const activation = activateSkill(folder);
        const { fingerprint, directory, server, files, filesLeftOut, tokens, text } = activation;
        const told = { name: activation.name, directory, server, filesLeftOut, tokens, fingerprint };
        const shown = { ...told, files: files.map(({ path, size }) => ({ path, size })) };
        if (had === fingerprint) return { ...shown, text: null };
        // Where it cannot be written, nothing is given.
        await skillbox.note(activationEvent(activation, await digestFolder(folder), client));
        return { ...shown, text };
      } finally {
        folder.close();
      }
    },
    async read(name, path) {
      return withSkill(await known(name), (skill, folder) => {
        const file = fileOf(skill, folder, path);
        const isAsset = skill.dialect === 'workspace' && file.kind === 'asset';
        const content = isAsset ? null : folder.read(file.path, READ_BYTES);
        return { skill: skill.name, dialect: skill.dialect, ...file, content, otherwise: COPY };
      });
    },
    async open(name) {
      const folder = await openFolder((await known(name)).realFolder);
      return {
        files: folder.files,
        read: async (path, maxBytes) => folder.read(path, maxBytes),
        digest: null,
        close: () => folder.close(),
      };
    },
    async tellActivated(name, client) {
      const skill = await known(name);
      const folder = await openFolder(skill.realFolder);
      try {
        await skillbox.note(activationEvent(skill, await digestFolder(folder), client));
      } finally {
        folder.close();
      }
    },
    async run(name, wanted, context) {
      return withSkill(await known(name), async (skill, folder) => {
        const request = toRequest(env, context.workspace, skill, folder, wanted(skill));
        // Nobody is asked here: who can be, and by what channel, the entrance knows.
        const record = await skillbox.run(request, { ...hooksOf(context), ask: null });
        return await reportRun(record, readLogs, WORDS_HERE);
      });
    },
    async getRun(id) {
      // Whole ids cannot be guessed; the beginning of one would find what others ran.
      if (!isId(id)) throw new SkillboxError('NOT_FOUND', 'that is not the whole id of a run');
      return await reportRun(await skillbox.getRun(id), readLogs, WORDS_HERE);
    },
  };
}

export function missing(name: string, count: number): never {
  throw new SkillboxError('NOT_FOUND', `there is no skill "${visibleLine(name, 64)}"`, {
    hint: count === 0 ? 'There are no skills here.' : 'Call list_skills to see what there is.',
  });
}

export function logsOf(skillbox: Pick<Skillbox, 'readLogs'>): LogReader {
  return (id, offset) => skillbox.readLogs(id, offset);
}

/** Opens it where it really lies: a link that was swapped since it was judged leads nowhere. */
export async function withSkill<T>(
  { realFolder }: KnownSkill,
  body: (skill: Skill, folder: Folder) => T | Promise<T>,
): Promise<T> {
  const folder = await openFolder(realFolder);
  try {
    const { skill, diagnostics } = readSkill(folder, { mode: 'lenient', dialect: null });
    if (skill !== null) return await body(skill, folder);
    const first = diagnostics.find(({ severity }) => severity === 'error');
    throw new SkillboxError('INVALID_SKILL', `the skill does not load: ${first?.message ?? 'it cannot be read'}`);
  } finally {
    folder.close();
  }
}

/** WS-05…07: only what the snapshot of the folder holds, which has no links that leave; sizes and endings as the format says. */
function fileOf(skill: Skill, folder: Folder, path: string): { path: string; size: number; kind: string } {
  const entry = folder.file(path.replace(/^\.\//, ''));
  if (entry === null) throw noFile(skill.name, path);
  checkReadable(skill, entry);
  const resource = skill.resources.find(one => one.path === entry.path);
  const script = skill.scripts.some(one => one.path === entry.path);
  return { path: entry.path, size: entry.size, kind: resource?.kind ?? (script ? 'script' : 'other') };
}

export function checkReadable(
  { dialect }: Pick<Skill, 'dialect'>,
  { path, size }: { path: string; size: number },
): void {
  if (dialect === 'workspace') checkExtension(path);
  if (size <= READ_BYTES) return;
  throw new SkillboxError('FILE_TOO_LARGE', `${visibleLine(path)} has ${size} bytes; the limit is ${READ_BYTES}`);
}

export function noFile(skill: string, path: string): SkillboxError {
  return new SkillboxError('NOT_FOUND', `the skill "${visibleLine(skill)}" has no file ${visibleLine(path)}`, {
    hint: 'Give the path as activate_skill lists it, relative to the skill.',
  });
}

export function hooksOf({ signal, onOutput }: CallContext): RunHooks {
  // A character may begin in one piece and end in the next of its stream.
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  return {
    signal,
    onState: () => undefined,
    onChunk: (stream, chunk) => onOutput?.(decoders[stream].write(chunk)),
    onBuild: (manager, line) => onOutput?.(`${manager}: ${line}\n`),
  };
}
