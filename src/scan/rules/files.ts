import { basename } from 'node:path/posix';
import type { FileEntry } from '../../skill/index.ts';
import type { PlacedHit, Rule, Subject } from '../rule.ts';
import { extensionOf, nameOf } from '../spans-of.ts';
import { programOf } from './blobs.ts';

const COMPILED = new Set(
  'exe dll so dylib o a node pyc pyo class jar war wasm elf bin app msi deb rpm dmg pkg apk com scr'.split(' '),
);
const PACKED = new Set('zip gz tgz bz2 xz zst 7z rar tar whl egg skill'.split(' '));
const PICTURES = new Set('png jpg jpeg gif webp ico bmp svg pdf mp3 mp4 wav woff woff2 ttf otf csv'.split(' '));
/** What agents read by themselves where they find it. */
const AGENT_FILES =
  /(?:^|\/)(?:\.claude\/(?:settings(?:\.local)?\.json|CLAUDE\.md|hooks\/.{1,200})|\.mcp\.json|\.cursorrules|\.cursor\/.{1,200}|CLAUDE\.md|AGENTS\.md|GEMINI\.md|hooks\.json|\.vscode\/(?:tasks|settings)\.json|\.github\/copilot-instructions\.md|\.envrc)$/;

function onFile(path: string, more: Partial<PlacedHit> = {}): PlacedHit {
  return { file: path, line: 1, column: 1, excerpt: '', ...more };
}

function compiledPrograms({ folder, heads }: Subject): PlacedHit[] {
  return folder.files.flatMap(file => {
    const head = heads.get(file.path);
    const program = head === undefined ? null : programOf(head);
    if (program === null && !(COMPILED.has(extensionOf(nameOf(file.path))) && head !== undefined)) return [];
    return [onFile(file.path, { severity: 'medium', note: `It is ${program ?? 'compiled code, by its name'}.` })];
  });
}

function disguised({ folder, heads, files }: Subject): PlacedHit[] {
  const texts = new Map(files.map(file => [file.entry.path, file.text]));
  return folder.files.flatMap(file => {
    const extension = extensionOf(nameOf(file.path));
    const isDocument = ['md', 'txt', 'json', 'yaml', 'yml'].includes(extension);
    if (!PICTURES.has(extension) && !isDocument) return [];
    const head = heads.get(file.path);
    const text = texts.get(file.path) ?? '';
    if (head !== undefined && programOf(head) !== null) return [onFile(file.path, { severity: 'high' })];
    if (
      !text.startsWith('#!/') &&
      !(PICTURES.has(extension) && /^\s{0,20}(?:<\?php|import os\b|#!)/.test(text.slice(0, 200)))
    )
      return [];
    return [onFile(file.path, { severity: 'high', excerpt: text.slice(0, 60).split('\n', 1)[0] ?? '' })];
  });
}

function oddExecutables({ folder, heads }: Subject): PlacedHit[] {
  const isOdd = ({ path, executable }: FileEntry) =>
    executable && !/^(?:scripts|bin|tools|hooks)\//.test(path) && !heads.has(path);
  const scripts = /\.(?:py|sh|bash|js|mjs|cjs|ts)$/;
  return folder.files
    .filter(isOdd)
    .map(file => onFile(file.path, { severity: scripts.test(file.path) ? 'info' : 'low' }));
}

function left({ folder }: Subject, codes: readonly string[]): PlacedHit[] {
  return folder.problems
    .filter(problem => codes.includes(problem.code))
    .map(problem => onFile(problem.file, { note: `${problem.message}.` }));
}

/** What may be started and was not read whole: the one hole in the coverage that is a finding of its own. */
function unreadPrograms({ folder, unread }: Subject): PlacedHit[] {
  return unread.flatMap(({ file, reason, detail }) => {
    if (reason !== 'too-large' && reason !== 'budget' && reason !== 'unreadable') return [];
    const entry = folder.file(file);
    const starts =
      entry?.executable === true || file.startsWith('scripts/') || /\.(?:py|sh|bash|js|mjs|cjs|ts)$/.test(file);
    return starts || /^skill\.md$/i.test(file) ? [onFile(file, { note: `${detail}.` })] : [];
  });
}

const MEDIUM = { data: 'medium' } as const;

export const FILE_RULES: Rule[] = [
  {
    id: 'compiled-program',
    family: 'files',
    title: 'a compiled program',
    why: 'Nobody can read what it does, and no rule looked into it.',
    fix: 'Ship the source, or get the program from where it is published, with a checksum.',
    where: MEDIUM,
    detector: { kind: 'skill', find: compiledPrograms },
    hits: [
      { 'SKILL.md': 'x', 'scripts/tool': '\x7fELF\x02\x01\x01\0\0\0\0' },
      { 'SKILL.md': 'x', 'lib/x.so': '\0\0\0\0binary' },
    ],
    misses: [
      { 'SKILL.md': 'x', 'assets/logo.png': '\x89PNG\r\n\x1a\n\0\0\0' },
      { 'SKILL.md': 'x', 'scripts/run.sh': '#!/bin/sh\ntrue\n' },
    ],
  },
  {
    id: 'disguised-program',
    family: 'files',
    title: 'a program under the name of a picture or a document',
    why: 'The name says that it is harmless to open; the content is a program.',
    fix: 'Do not install the skill.',
    where: { data: 'high' },
    detector: { kind: 'skill', find: disguised },
    hits: [
      { 'SKILL.md': 'x', 'assets/logo.png': '#!/bin/sh\ntrue\n' },
      { 'SKILL.md': 'x', 'notes.txt': '#!/bin/bash\ntrue\n' },
    ],
    misses: [
      { 'SKILL.md': 'x', 'assets/logo.svg': '<svg></svg>' },
      { 'SKILL.md': 'x', 'notes.md': '# Notes\n' },
    ],
  },
  {
    id: 'odd-executable',
    family: 'files',
    title: 'an executable file outside scripts/',
    why: 'Programs of a skill lie in scripts/, where people look for them.',
    fix: 'Move it to scripts/, or take the executable bit away.',
    where: { data: 'low' },
    detector: { kind: 'skill', find: oddExecutables },
    hits: [
      { 'SKILL.md': 'x', 'references/notes.md*': '# Notes\n' },
      { 'SKILL.md': 'x', 'assets/data*': 'echo hi\n' },
    ],
    misses: [
      { 'SKILL.md': 'x', 'scripts/run.sh*': '#!/bin/sh\ntrue\n' },
      { 'SKILL.md': 'x', 'notes.md': 'x' },
    ],
  },
  {
    id: 'packed-files',
    family: 'files',
    title: 'an archive inside the skill',
    why: 'What is packed in it was not looked into.',
    fix: 'Unpack it into the skill.',
    where: { data: 'low' },
    detector: {
      kind: 'skill',
      find: ({ folder, heads }) =>
        folder.files
          .filter(file => PACKED.has(extensionOf(nameOf(file.path))) && heads.has(file.path))
          .map(file => onFile(file.path)),
    },
    hits: [{ 'SKILL.md': 'x', 'assets/more.zip': 'PK\x03\x04\0\0\0\0' }],
    misses: [{ 'SKILL.md': 'x', 'assets/logo.png': '\x89PNG\r\n\x1a\n\0\0' }],
  },
  {
    id: 'link-outside',
    family: 'files',
    title: 'a link that leads out of the skill',
    why: 'An agent that follows it reads, or hands over, a file of the user. Skillbox does not follow it.',
    fix: 'Replace the link by the file itself.',
    where: MEDIUM,
    detector: { kind: 'skill', find: subject => left(subject, ['folder-link-outside']) },
    hits: [{ 'SKILL.md': 'x', 'notes.md@': '../../../etc/hostname' }],
    misses: [{ 'SKILL.md': 'x', 'a.md@': 'b.md', 'b.md': 'x' }],
  },
  {
    id: 'special-file',
    family: 'files',
    title: 'a device, a socket or an unsafe name',
    why: 'A skill consists of regular files with names that every system can hold.',
    fix: 'Remove or rename it.',
    where: MEDIUM,
    detector: {
      kind: 'skill',
      find: subject => left(subject, ['folder-special-file', 'folder-name-unsafe', 'folder-name-collision']),
    },
    hits: [
      { 'SKILL.md': 'x', 'con.md': 'x' },
      { 'SKILL.md': 'x', 'a\u202eb.md': 'x' },
    ],
    misses: [{ 'SKILL.md': 'x', 'contents.md': 'x' }],
  },
  {
    id: 'secret-file',
    family: 'files',
    title: 'a file that usually holds secrets',
    why: 'Either somebody published his own secrets, or the file sets the environment of whoever uses the skill.',
    fix: 'Remove it; if the secrets are real, replace them.',
    where: MEDIUM,
    detector: { kind: 'skill', find: subject => left(subject, ['folder-secret-file']) },
    hits: [
      { 'SKILL.md': 'x', '.env': 'A=1\n' },
      { 'SKILL.md': 'x', 'keys/id_rsa': 'x' },
    ],
    misses: [{ 'SKILL.md': 'x', '.env.example': 'A=\n' }],
  },
  {
    id: 'nested-skill',
    family: 'files',
    title: 'a skill inside the skill',
    why: 'Agents that search deep would load it, too, and nobody chose it.',
    fix: 'Move it beside this skill, and decide on it by itself.',
    where: { data: 'low' },
    detector: {
      kind: 'skill',
      find: ({ folder }) => folder.files.filter(file => /\/skill\.md$/i.test(file.path)).map(file => onFile(file.path)),
    },
    hits: [{ 'SKILL.md': 'x', 'references/inner/SKILL.md': '---\nname: inner\ndescription: x\n---\n' }],
    misses: [{ 'SKILL.md': 'x', 'references/my-skill.md': 'x' }],
  },
  {
    id: 'agent-files',
    family: 'files',
    title: 'a settings file of an agent or an editor',
    why: 'Where such a file lies in the working directory, the agent follows it without anybody loading the skill.',
    fix: 'Remove it, or say in SKILL.md what the user should set.',
    where: MEDIUM,
    detector: {
      kind: 'skill',
      find: ({ folder }) =>
        folder.files
          .filter(file => AGENT_FILES.test(file.path) && basename(file.path) !== 'SKILL.md')
          .map(file => onFile(file.path)),
    },
    hits: [
      { 'SKILL.md': 'x', '.claude/settings.json': '{}' },
      { 'SKILL.md': 'x', '.mcp.json': '{}' },
    ],
    misses: [{ 'SKILL.md': 'x', 'settings.json': '{}' }],
  },
  {
    id: 'unread-program',
    family: 'files',
    title: 'a program that was not read',
    why: 'It is too large, or the skill is, or it changed meanwhile: what it does is unknown.',
    fix: 'Make it smaller, or read it yourself.',
    where: MEDIUM,
    detector: { kind: 'skill', find: unreadPrograms },
    hits: [{ 'SKILL.md': 'x', 'scripts/run.sh': `#!/bin/sh\n${'# padding\n'.repeat(450_000)}` }],
    misses: [
      { 'SKILL.md': 'x', 'scripts/run.sh': '#!/bin/sh\ntrue\n' },
      { 'SKILL.md': 'x', 'data.csv': '1,2,3\n'.repeat(800_000) },
    ],
  },
];
