// Skills of realistic size and variety, the same ones every time: a seeded generator, no copies of real files.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const VERSION = '4';
const WORDS =
  'agent archive branch build cache change check client code commit config data deploy diff error event file filter format graph index input issue job json key layer limit line link list log merge model name network note output package page parser path plan policy query queue read record release report request result review rule run schema script search server skill source state step store stream table task test text token tool trace tree type update user value version view worker'.split(
    ' ',
  );

/** Writes `count` skills below `directory` unless they are there already. */
export function generateSkills(directory: string, count: number): void {
  const stamp = join(directory, '.stamp');
  const wanted = `${VERSION}:${count}`;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  const random = seeded(20_260_101);
  for (let i = 0; i < count; i++) writeSkill(directory, i, random);
  writeFileSync(stamp, wanted);
}

type Random = () => number;

function writeSkill(directory: string, index: number, random: Random): void {
  const name = `${pick(random)}-${pick(random)}-${index}`;
  const folder = join(directory, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'SKILL.md'), `${frontmatter(name, random)}\n${body(name, random)}`);
  if (random() < 0.3) {
    mkdirSync(join(folder, 'references'), { recursive: true });
    writeFileSync(join(folder, 'references/guide.md'), body('Guide', random));
  }
  if (random() < 0.3) {
    mkdirSync(join(folder, 'scripts'), { recursive: true });
    writeFileSync(join(folder, 'scripts/run.sh'), '#!/bin/sh\necho ok\n');
  }
}

/** The shapes that public skills have, roughly in the proportions in which they have them. */
function frontmatter(name: string, random: Random): string {
  const description = `${sentence(random, 14)} Use when the user asks for ${words(random, 6)}.`;
  const kind = random();
  const lines = [`name: ${name}`];
  if (kind < 0.1) lines.push(`description: >-\n  ${description}\n  ${sentence(random, 8)}`);
  else if (kind < 0.3) lines.push(`description: "${description}"`);
  else lines.push(`description: ${description}`);
  if (random() < 0.3) lines.push('license: MIT');
  if (random() < 0.25)
    lines.push(`metadata:\n  author: ${pick(random)}\n  version: "1.${Math.floor(random() * 20)}.0"`);
  if (random() < 0.15) lines.push('allowed-tools: Read Grep Bash(git:*)');
  return `---\n${lines.join('\n')}\n---`;
}

/** About 850 tokens in the median, with a long tail: headings, lists, code, a table, links. */
function body(title: string, random: Random): string {
  const target = 3400 * Math.exp((random() + random() + random() - 1.5) * 1.1);
  const parts = [`# ${title}`, sentence(random, 20)];
  let length = 0;
  while (length < target) {
    const part = section(random);
    parts.push(part);
    length += part.length;
  }
  return `${parts.join('\n\n')}\n`;
}

function section(random: Random): string {
  const heading = `## ${words(random, 3)}`;
  const kind = random();
  if (kind < 0.35) return `${heading}\n\n${sentence(random, 40)} ${sentence(random, 30)}`;
  if (kind < 0.6) return `${heading}\n\n${repeat(5, () => `- **${pick(random)}**: ${sentence(random, 10)}`)}`;
  if (kind < 0.8)
    return `${heading}\n\n\`\`\`bash\n${repeat(5, () => `${pick(random)} --${pick(random)} ${pick(random)}`)}\n\`\`\``;
  if (kind < 0.92)
    return `${heading}\n\n| a | b |\n|---|---|\n${repeat(4, () => `| \`${pick(random)}\` | ${words(random, 5)} |`)}`;
  return `${heading}\n\nSee [${pick(random)}](https://example.com/${pick(random)}) and *${words(random, 3)}*. ${sentence(random, 20)}`;
}

function repeat(count: number, make: () => string): string {
  return Array.from({ length: count }, make).join('\n');
}

function sentence(random: Random, count: number): string {
  const text = words(random, count);
  return `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}

function words(random: Random, count: number): string {
  return Array.from({ length: count }, () => pick(random)).join(' ');
}

function pick(random: Random): string {
  return WORDS[Math.floor(random() * WORDS.length)] ?? 'skill';
}

/** mulberry32 */
function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
