import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseInput } from '../../src/cli/command.ts';
import { mcpCommand } from '../../src/cli/commands/mcp.ts';

const text = readFileSync(join(import.meta.dirname, '../../docs/agents.md'), 'utf8');
const blocks = [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, kind = '', body = '']) => ({ kind, body }));

/** Every list of words that begins our command, wherever it stands in a configuration. */
function commandsIn(value: unknown): string[][] {
  if (Array.isArray(value) && value.every(item => typeof item === 'string')) {
    const at = value.indexOf('mcp');
    return at === -1 ? [] : [value.slice(at + 1)];
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(commandsIn) : [];
}

describe('docs/agents.md', () => {
  test.each(['Claude Code', 'Codex', 'Gemini CLI', 'Cursor', 'VS Code', 'OpenCode', 'Goose'])(
    '%s has its lines',
    name => {
      expect(text).toContain(`**${name}** — `);
    },
  );

  const isRemote = ({ body }: { body: string }) => body.includes('https://skills.example.com/mcp');

  test('each agent has lines for a server too, which can be read and show a key', () => {
    const remote = blocks.filter(isRemote);
    expect(remote).toHaveLength(7);
    for (const { kind, body } of remote) {
      if (kind === 'json') JSON.parse(body);
      if (kind === 'yaml') parse(body);
      expect(body).toMatch(/Authorization"?: "Bearer |Authorization: Bearer |bearer_token_env_var = /);
    }
  });

  test('every configuration can be read, and starts our command with options that it has', () => {
    const commands = blocks.flatMap(block => {
      const { kind, body } = block;
      if (isRemote(block)) return [];
      if (kind === 'json') return commandsIn(JSON.parse(body));
      if (kind === 'yaml') return commandsIn(parse(body));
      if (kind === 'toml')
        return [JSON.parse(/^args = (.*)$/m.exec(body)?.[1] ?? '') as string[]].flatMap(words => commandsIn(words));
      if (kind === 'sh') return [/-- skillbox mcp (.*)$/m.exec(body)?.[1]?.split(' ') ?? ['--nothing']];
      return [];
    });
    expect(commands).toHaveLength(8);
    for (const words of commands) expect(() => parseInput(mcpCommand, words)).not.toThrow();
  });

  test('every tool of ours is named', () => {
    for (const name of [
      'list_skills',
      'activate_skill',
      'read_skill_resource',
      'copy_skill_file',
      'run_skill',
      'get_run',
    ]) {
      expect(text).toContain(`| \`${name}\` |`);
    }
  });
});
