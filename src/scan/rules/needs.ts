import type { Skill } from '../../skill/index.ts';
import type { PlacedHit, Rule, ScannedFile, Subject } from '../rule.ts';
import { excerptOf, placeIn } from '../span.ts';

const NETWORK =
  /\b(?:import (?:requests|httpx|aiohttp|urllib3|socket|ftplib|smtplib|paramiko|websockets?)\b|from (?:requests|httpx|aiohttp|urllib|urllib3|socket|ftplib|smtplib|http\.client) import|import urllib\.request|urllib\.request\.|requests\.(?:get|post|put|Session)|fetch\(\s{0,3}["'`](?:https?:|\$)|axios(?:\.\w{3,8})?\(|from ["'](?:node:)?(?:https?|net|dgram|tls|dns|axios|undici|node-fetch|got)["']|require\(["'](?:node:)?(?:https?|net|dgram|tls|axios|undici|node-fetch|got)["']\))|(?:^|[;&|(`]\s{0,3})(?:curl|wget|ssh|scp|ftp|nc|ncat|telnet|aws|gcloud|az|gh|git (?:clone|push|pull|fetch)) /m;
const SECRET_NAME =
  /(?:os\.environ(?:\.get\(|\[)|os\.getenv\(|process\.env(?:\.|\[)|\$\{?)["']?([A-Z][A-Z0-9_]{0,40}(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PRIVATE_KEY|ACCESS_KEY(?:_ID)?|CREDENTIALS?))\b/;

/** The first line of code that the pattern finds, in each script. */
function firstUse(files: readonly ScannedFile[], pattern: RegExp): PlacedHit[] {
  const hits: PlacedHit[] = [];
  for (const file of files) {
    for (const span of file.spans) {
      if (span.place !== 'code') continue;
      const match = pattern.exec(span.text);
      if (match === null) continue;
      hits.push({
        file: file.entry.path,
        ...placeIn(span, match.index),
        excerpt: excerptOf(span, match.index, match[0].length),
      });
      break;
    }
  }
  return hits;
}

/** Only these two have a word for it; for the others silence means nothing. */
function canDeclareNetwork({ dialect }: Skill): boolean {
  return dialect === 'gibberish' || dialect === 'seksbot';
}

function undeclaredNetwork({ skill, files }: Subject): PlacedHit[] {
  if (skill === null || skill.needs.network !== 'none') return [];
  const severity = canDeclareNetwork(skill) ? 'medium' : mentionsNetwork(skill) ? 'info' : 'low';
  const note = canDeclareNetwork(skill)
    ? ''
    : `The ${skill.dialect} format has no field for it; its runs get no network.`;
  return firstUse(files, NETWORK).map(hit => ({ ...hit, severity, ...(note === '' ? {} : { note }) }));
}

/** What formats without a field are asked to say in words. */
function mentionsNetwork({ about, description }: Skill): boolean {
  return /\b(?:network|internet|online|https?:|API|web|download|fetch)/i.test(
    `${about.compatibility ?? ''} ${description}`,
  );
}

function undeclaredSecrets({ skill, files }: Subject): PlacedHit[] {
  if (skill === null || skill.needs.secrets.length > 0) return [];
  const severity = skill.dialect === 'seksbot' ? 'medium' : 'info';
  return firstUse(files, SECRET_NAME).map(hit => ({ ...hit, severity }));
}

const INTERPRETERS =
  /^(?:\*|(?:ba|z|da)?sh|python[23]?|node|perl|ruby|eval|sudo|env|xargs|npx|uvx|docker|ssh)(?:$|[:\s*])/;
const FETCHERS = /^(?:curl|wget|nc|ncat)(?:$|[:\s*])/;

function broadTools({ skill, files }: Subject): PlacedHit[] {
  if (skill === null || skill.needs.allowedTools.length === 0) return [];
  const document = files.find(file => /^skill\.md$/i.test(file.entry.path));
  if (document === undefined) return [];
  const hits: PlacedHit[] = [];
  for (const { tool, pattern } of skill.needs.allowedTools) {
    const shown = pattern === null ? tool : `${tool}(${pattern})`;
    const severity = broadness(tool, pattern);
    if (severity === null) continue;
    hits.push({
      file: document.entry.path,
      ...fieldLine(document.text, 'allowed-tools', shown),
      excerpt: shown,
      severity,
    });
  }
  return hits;
}

function broadness(tool: string, pattern: string | null): 'medium' | 'low' | null {
  if (tool === '*') return 'medium';
  if (tool !== 'Bash' && tool !== 'Shell' && tool !== 'Terminal') return null;
  if (pattern === null || pattern === '' || pattern === '*' || pattern === ':*' || pattern === '**') return 'medium';
  return INTERPRETERS.test(pattern) || FETCHERS.test(pattern) ? 'low' : null;
}

/** The line of a field in the frontmatter, or of the entry below it where that is written on a line of its own. */
function fieldLine(text: string, field: string, entry: string): { line: number; column: number } {
  const lines = text.slice(0, 64 * 1024).split('\n');
  const start = lines.findIndex(line => line.startsWith(`${field}:`) || line.startsWith(`${field} :`));
  if (start === -1) return { line: 1, column: 1 };
  for (let at = start; at < Math.min(lines.length, start + 40); at++) {
    const column = (lines[at] ?? '').indexOf(entry);
    if (column !== -1) return { line: at + 1, column: column + 1 };
  }
  return { line: start + 1, column: 1 };
}

function hooksOf({ skill, files }: Subject): PlacedHit[] {
  const document = files.find(file => /^skill\.md$/i.test(file.entry.path));
  if (document === undefined) return [];
  const declared = skill !== null && Object.hasOwn(skill.extra, 'hooks');
  const header = document.spans.find(
    span => span.place === 'header' && /^["']?hooks["']? ?:/.test(span.text.slice(0, 20)),
  );
  if (!declared && header === undefined) return [];
  return [{ file: document.entry.path, ...fieldLine(document.text, 'hooks', 'hooks'), excerpt: 'hooks:' }];
}

const header = (fields: string) =>
  `---\nname: sample\ndescription: Adds numbers. Use when asked to add.\n${fields}---\n\nAdd.\n`;
const GIBBERISH =
  '---\nname: sample\nversion: 1.0.0\ndescription: Adds.\nread_only: true\n---\n\n### add\n\nAdds.\n\n#### Parameters\n\nNone.\n\n#### Command\n\n```bash\nscripts/run.sh\n```\n';
const SEKSBOT = 'version: 1\nname: sample\ndescription: Adds.\ncapabilities: []\ncontainer_network: none\n';

export const NEEDS_RULES: Rule[] = [
  {
    id: 'undeclared-network',
    family: 'needs',
    title: 'a script uses the network, and the skill does not say so',
    why: 'What a skill asks for is what people approve; this was not asked for. In the sandbox the call fails.',
    fix: 'Declare the network where the format can, or say it in `compatibility`; or remove the call.',
    where: { code: 'medium' },
    detector: { kind: 'skill', find: undeclaredNetwork },
    hits: [
      { 'SKILL.md': GIBBERISH, 'scripts/run.sh': '#!/bin/sh\ncurl -s https://example.com\n' },
      { 'SKILL.md': '# Sample\n', 'skill.yaml': SEKSBOT, 'scripts/run.py': 'import requests\n' },
    ],
    misses: [
      {
        'SKILL.md': GIBBERISH.replace('read_only: true', 'network: true'),
        'scripts/run.sh': '#!/bin/sh\ncurl -s https://example.com\n',
      },
      { 'SKILL.md': GIBBERISH, 'scripts/run.sh': '#!/bin/sh\necho 1\n' },
    ],
  },
  {
    id: 'undeclared-secret',
    family: 'needs',
    title: 'a script reads a secret, and the skill does not ask for one',
    why: 'A secret that is asked for by name can be granted by name, and never shown to the script.',
    fix: 'List the capability in the manifest, where the format has one.',
    where: { code: 'medium' },
    detector: { kind: 'skill', find: undeclaredSecrets },
    hits: [
      { 'SKILL.md': '# Sample\n', 'skill.yaml': SEKSBOT, 'scripts/run.py': 'key = os.environ["OPENAI_API_KEY"]\n' },
    ],
    misses: [
      {
        'SKILL.md': '# Sample\n',
        'skill.yaml': SEKSBOT.replace('[]', '[openai/chat]'),
        'scripts/run.py': 'key = os.environ["OPENAI_API_KEY"]\n',
      },
      { 'SKILL.md': '# Sample\n', 'skill.yaml': SEKSBOT, 'scripts/run.py': 'home = os.environ["HOME"]\n' },
    ],
  },
  {
    id: 'broad-tools',
    family: 'needs',
    title: 'allowed-tools asks for any command',
    why: 'An agent that grants it runs every command of the skill without asking.',
    fix: 'Name the commands: `Bash(git status:*)` instead of `Bash`.',
    where: { header: 'medium' },
    detector: { kind: 'skill', find: broadTools },
    hits: [
      { 'SKILL.md': header('allowed-tools: Read Bash(*)\n') },
      { 'SKILL.md': header('allowed-tools: Bash\n') },
      { 'SKILL.md': header('allowed-tools: Bash(sudo:*)\n') },
    ],
    misses: [
      { 'SKILL.md': header('allowed-tools: Read Bash(git:*)\n') },
      { 'SKILL.md': header('allowed-tools: Read Grep\n') },
    ],
  },
  {
    id: 'frontmatter-hooks',
    family: 'needs',
    title: 'hooks in the frontmatter',
    why: 'Some agents run the commands of hooks by themselves, at every tool call, without the model and without a question.',
    fix: 'Remove the hooks; let the user set them up if he wants them.',
    where: { header: 'high', data: 'high' },
    detector: { kind: 'skill', find: hooksOf },
    hits: [{ 'SKILL.md': header('hooks:\n  PreToolUse:\n    - command: ./x.sh\n') }],
    misses: [{ 'SKILL.md': header('license: MIT\n') }, 'hooks: are described below.'],
  },
];
