import { SkillboxError } from '../../base/index.ts';
import { comparePaths, type FileEntry, type Folder } from '../../skill/index.ts';
import type { ConvertedFile } from './conversion.ts';

/** The result of a conversion as a folder, before any of it is written: so the one reader can say what became of it. */
export function plannedFolder(name: string, planned: readonly ConvertedFile[], source: Folder): Folder {
  const content = new Map(planned.map(file => [file.path, file]));
  const sizeOf = (file: ConvertedFile) =>
    file.source === 'text' ? Buffer.byteLength(file.text) : (source.file(file.from)?.size ?? 0);
  const files = planned
    .map((file): FileEntry => ({ path: file.path, size: sizeOf(file), executable: file.executable }))
    .sort((a, b) => comparePaths(a.path, b.path));
  const entries = new Map(files.map(file => [file.path, file]));
  const find = (path: string): ConvertedFile => {
    const file = content.get(path);
    if (file === undefined) throw new SkillboxError('NOT_FOUND', `the converted skill has no file ${path}`);
    return file;
  };
  return {
    origin: source.origin,
    name,
    files,
    problems: [],
    file: path => entries.get(path) ?? null,
    read(path, maxBytes) {
      const file = find(path);
      return file.source === 'text' ? Buffer.from(file.text) : source.read(file.from, maxBytes);
    },
    async *stream(path) {
      const file = find(path);
      if (file.source === 'copy') yield* source.stream(file.from);
      else if (file.text !== '') yield Buffer.from(file.text);
    },
    close: () => undefined,
  };
}
