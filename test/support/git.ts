import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { writeFiles } from '../temp.ts';

const AUTHOR = {
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.org',
};

/** Runs the real git in a repository of a test, untouched by the settings of whoever runs the tests. */
export function git(directory: string, ...words: string[]): string {
  const env = { PATH: process.env.PATH ?? '', HOME: directory, GIT_CONFIG_NOSYSTEM: '1', ...AUTHOR };
  return execFileSync('git', words, {
    cwd: directory,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}

/** A repository with these files in its first commit. */
export function repository(directory: string, files: Record<string, string | Buffer>): string {
  mkdirSync(directory, { recursive: true });
  git(directory, 'init', '--quiet', '--initial-branch=main');
  commit(directory, files);
  return directory;
}

export function commit(directory: string, files: Record<string, string | Buffer>): string {
  writeFiles(directory, files);
  git(directory, 'add', '--all');
  git(directory, 'commit', '--quiet', '--message=change');
  return git(directory, 'rev-parse', 'HEAD');
}

export function urlOf(directory: string): string {
  return `file://${directory}`;
}

/** A plain skill. */
export function skillText(name: string, more: { body?: string; description?: string; fields?: string } = {}): string {
  const { body = 'Count.', description = `Does ${name}. Use when asked for ${name}.`, fields = '' } = more;
  return `---\nname: ${name}\ndescription: ${description}\n${fields}---\n\n${body}\n`;
}

export function skillPath(root: string, name: string): string {
  return join(root, '.skillbox/skills', name);
}
