import { renderSize, SkillboxError } from '../base/index.ts';
import { type PackedFile, readContent, streamContent } from './archive-content.ts';
import { type ArchiveEntry, readEntries } from './archive-entries.ts';
import { ArchiveFile } from './archive-file.ts';
import { refuse } from './archive-refusal.ts';
import { type Diagnostic, Findings, sortDiagnostics } from './diagnostic.ts';
import { comparePaths, type FileEntry, type Folder, type FolderOrigin } from './folder.ts';
import { checkSize, missingFile } from './folder-errors.ts';
import { defaultRules, IGNORE_FILE, loadIgnoreRules } from './ignore.ts';
import { completeLimits, type FolderLimits, maxEntries } from './limits.ts';
import { checkPath, showPath } from './names.ts';
import { changedError } from './snapshot.ts';
import { readEnd } from './zip-records.ts';

/** A skill's zip. It is read and checked to its last byte before anybody sees a file of it, or refused as a whole. */
export async function openArchive(path: string, limits: Partial<FolderLimits> = {}): Promise<Folder> {
  const file = new ArchiveFile(path);
  try {
    const chosen = await chooseFiles(file, completeLimits(limits));
    for (const { packed } of chosen.files) await verify(file, packed);
    // What was just checked must be what is read later.
    file.checkUnchanged();
    return new ArchiveFolder(file, chosen);
  } catch (error) {
    file.close();
    throw error;
  }
}

type Packed = { entry: FileEntry; packed: PackedFile };
type Chosen = { name: string | null; files: Packed[]; problems: Diagnostic[] };

async function chooseFiles(file: ArchiveFile, limits: FolderLimits): Promise<Chosen> {
  const directory = readEnd(file);
  if (directory.entries > maxEntries(limits)) throw refuse('entries', null, `has ${directory.entries} entries`);
  const packed = (await readEntries(file, directory)).filter(entry => !entry.directory);
  const name = findTop(packed);
  // With a top folder, what lies beside it (`__MACOSX`, `.DS_Store`) is not in the skill.
  const inside = packed.filter(entry => name === null || entry.name.startsWith(`${name}/`));
  const paths = new Map(inside.map(entry => [name === null ? entry.name : entry.name.slice(name.length + 1), entry]));
  const findings = new Findings('strict');
  const files = selectFiles(file, paths, findings);
  if (files.length > limits.maxFiles) throw refuse('entries', null, `has ${files.length} files`);
  const bytes = files.reduce((sum, { entry }) => sum + entry.size, 0);
  if (bytes > limits.maxBytes) {
    throw refuse('bytes', null, `holds ${renderSize(bytes)}, over ${renderSize(limits.maxBytes)}`);
  }
  return { name, files, problems: sortDiagnostics(findings.list) };
}

const MANIFEST = /^skill\.(?:md|ya?ml|json)$/i;

/** SB-01: the one folder at the top in which everything lies, when the skill's manifest lies in it too. */
function findTop(packed: ArchiveEntry[]): string | null {
  const rules = defaultRules();
  const names = packed.map(entry => entry.name).filter(name => rules.judge(name) !== 'ignored');
  const first = names[0] ?? '';
  const top = first.slice(0, Math.max(0, first.indexOf('/')));
  if (top === '' || !names.every(name => name.startsWith(`${top}/`))) return null;
  return names.some(name => MANIFEST.test(name.slice(top.length + 1))) ? top : null;
}

/** The rules of a directory, so that a folder, its zip and the unpacked zip have one digest. */
function selectFiles(file: ArchiveFile, paths: ReadonlyMap<string, ArchiveEntry>, findings: Findings): Packed[] {
  const report = (code: 'folder-secret-file' | 'folder-too-large', path: string, what: string) =>
    findings.report(code, { file: showPath(path), line: 1, column: 1 }, `${showPath(path)} ${what}`);
  const ignoreFile = paths.get(IGNORE_FILE);
  const { rules, problem } =
    ignoreFile === undefined
      ? { rules: defaultRules(), problem: null }
      : loadIgnoreRules(ignoreFile.size, () => readContent(file, ignoreFile));
  if (problem !== null) report('folder-too-large', IGNORE_FILE, `${problem} and is not followed`);
  const files: Packed[] = [];
  for (const [path, packed] of paths) {
    const verdict = rules.judge(path);
    if (rules.exhausted) throw refuse('entries', IGNORE_FILE, 'takes too long to match');
    if (verdict === 'secret') report('folder-secret-file', path, 'usually holds secrets; it is left out');
    if (verdict !== 'taken') continue;
    const unsafe = checkPath(path);
    if (unsafe !== null) throw refuse('name', packed.name, unsafe);
    files.push({ entry: { path, size: packed.size, executable: packed.executable }, packed });
  }
  return files.sort((a, b) => comparePaths(a.entry.path, b.entry.path));
}

async function verify(file: ArchiveFile, packed: PackedFile): Promise<void> {
  for await (const _chunk of streamContent(file, packed));
}

class ArchiveFolder implements Folder {
  readonly origin: FolderOrigin;
  readonly name: string | null;
  readonly files: readonly FileEntry[];
  readonly problems: readonly Diagnostic[];
  readonly #file: ArchiveFile;
  readonly #packed: ReadonlyMap<string, Packed>;

  constructor(file: ArchiveFile, { name, files, problems }: Chosen) {
    this.origin = { kind: 'archive', path: file.path };
    this.name = name;
    this.files = files.map(({ entry }) => entry);
    this.problems = problems;
    this.#file = file;
    this.#packed = new Map(files.map(one => [one.entry.path, one]));
  }

  file(path: string): FileEntry | null {
    return this.#packed.get(path)?.entry ?? null;
  }

  read(path: string, maxBytes: number): Buffer {
    const { entry, packed } = this.#get(path);
    checkSize(entry, maxBytes);
    try {
      const content = readContent(this.#file, packed);
      this.#file.checkUnchanged();
      return content;
    } catch (error) {
      throw this.#translate(error);
    }
  }

  async *stream(path: string): AsyncGenerator<Buffer> {
    const { packed } = this.#get(path);
    try {
      for await (const chunk of streamContent(this.#file, packed)) {
        this.#file.checkUnchanged();
        yield chunk;
      }
    } catch (error) {
      throw this.#translate(error);
    }
  }

  close(): void {
    this.#file.close();
  }

  #get(path: string): Packed {
    const found = this.#packed.get(path);
    if (found === undefined) throw missingFile(path);
    return found;
  }

  /** It was right when it was opened, so whatever is wrong with it now has been changed since. */
  #translate(error: unknown): unknown {
    const refused = error instanceof SkillboxError && error.code.startsWith('ARCHIVE_');
    return refused ? changedError(this.origin.path, error) : error;
  }
}
