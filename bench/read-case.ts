// One way of reading every skill of a directory, in a process of its own so that memory and warm-up are its own.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import matter from 'gray-matter';
import MarkdownIt from 'markdown-it';
import { readProperties } from 'skills-ref';
import { parseDocument } from 'yaml';
import { readHeader, readSkill } from '../src/dialects/index.ts';
import { openDirectory } from '../src/skill/index.ts';

const CASES: Record<string, (folder: string) => unknown> = {
  'bare libraries': (() => {
    const markdown = new MarkdownIt('commonmark').enable('table');
    return folder => {
      const text = readFileSync(join(folder, 'SKILL.md'), 'utf8');
      const end = text.indexOf('\n---', 3);
      const fields: unknown = parseDocument(text.slice(4, end + 1)).toJS();
      return [fields, markdown.parse(text.slice(end + 5), {})];
    };
  })(),
  'skillbox, full read': folder => readSkill(openDirectory(folder), { mode: 'strict', dialect: null }),
  'skillbox, header': folder => readHeader(join(folder, 'SKILL.md')),
  'gray-matter': folder => matter(readFileSync(join(folder, 'SKILL.md'), 'utf8'), {}).data,
  'skills-ref': folder => readProperties(folder),
};

const [name = '', directory = ''] = process.argv.slice(2);
const read = CASES[name];
if (read === undefined) throw new Error(`no case ${name}`);

const folders = readdirSync(directory, { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(entry => join(directory, entry.name));
for (const folder of folders.slice(0, 200)) await read(folder);

const times: number[] = [];
const start = performance.now();
for (const folder of folders) {
  const before = performance.now();
  await read(folder);
  times.push(performance.now() - before);
}
const totalMs = performance.now() - start;
times.sort((a, b) => a - b);
const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
const result = {
  totalMs,
  p50: at(0.5),
  p99: at(0.99),
  rssMb: process.resourceUsage().maxRSS / 1024,
  skills: folders.length,
};
process.stdout.write(JSON.stringify(result));
