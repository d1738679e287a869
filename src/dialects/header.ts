import { closeSync, openSync, readSync } from 'node:fs';
import { type Frontmatter, MAX_FRONTMATTER_BYTES, readFrontmatter, textOf } from './frontmatter.ts';
import { decode } from './source.ts';

/** What discovery needs of a skill: AS-09 reads only this much of each file. */
export type Header = {
  name: string | null;
  description: string | null;
  frontmatter: Frontmatter;
};

const FIRST_READ = 8 * 1024;
const SECOND_READ = MAX_FRONTMATTER_BYTES + 8 * 1024;
const buffer = Buffer.allocUnsafe(SECOND_READ);

/** Reads the frontmatter of the SKILL.md at `path`, by the same rules as the whole reader, and no more of the file. */
export function readHeader(path: string): Header {
  const fd = openSync(path, 'r');
  try {
    let length = readSync(fd, buffer, 0, FIRST_READ, 0);
    let header = parse(length);
    if (length === FIRST_READ && !isClosed(header.frontmatter)) {
      length += readSync(fd, buffer, length, SECOND_READ - length, length);
      header = parse(length);
    }
    return header;
  } finally {
    closeSync(fd);
  }
}

function parse(length: number): Header {
  const { text } = decode(buffer.subarray(0, length));
  const frontmatter = readFrontmatter(text);
  const get = (key: string) => {
    const field = frontmatter.fields?.get(key);
    return field === undefined ? null : textOf(field, text).text;
  };
  return { name: get('name'), description: get('description'), frontmatter };
}

/** Whether the end of the frontmatter lies in what was read. */
function isClosed(frontmatter: Frontmatter): boolean {
  return frontmatter.fields !== null && !frontmatter.problems.some(problem => problem.code === 'frontmatter-unclosed');
}
