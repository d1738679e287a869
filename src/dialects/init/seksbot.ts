import type { InitFile, InitWish } from '../init.ts';
import { renderYaml } from '../write.ts';
import { titleOf } from './title.ts';

export function seksbotFiles({ name, description }: InitWish): InitFile[] {
  const secret = `custom/${name}-signature`;
  const manifest = {
    version: 1,
    name,
    description,
    capabilities: [secret],
    container_network: 'broker-only',
    container_timeout: 60,
  };
  return [
    { path: 'skill.yaml', text: renderYaml(manifest), executable: false },
    { path: 'SKILL.md', text: instructions(name, secret), executable: false },
    { path: 'index.js', text: program(secret), executable: true },
  ];
}

function instructions(name: string, secret: string): string {
  return `# ${titleOf(name)}

Give the text as the task. The answer is \`{"words": …, "characters": …, "signed": …}\`.

The secret \`${secret}\` shows how a skill gets one: it is read from the broker when it is needed, with
\`seksh get ${secret}\`, and never stands in a file or in the environment.
A run has all that its skill declares or does not start, so store it first: \`skillbox secret set ${secret}\`.
`;
}

function program(secret: string): string {
  return `#!/usr/bin/env node
// Counts the words of its task.
// Neither require nor import: which of them a .js file has depends on a package.json that may lie above it.
const { spawnSync } = process.getBuiltinModule('node:child_process');
const { createHmac } = process.getBuiltinModule('node:crypto');
const { writeFileSync } = process.getBuiltinModule('node:fs');

/** A declared secret, or null where the broker has none. */
function getSecret(name) {
  const { status, stdout } = spawnSync('seksh', ['get', name], { encoding: 'utf8' });
  return status === 0 ? stdout.trimEnd() : null;
}

const task = process.env.SEKS_SKILL_TASK ?? '';
const result = { words: task.split(/\\s+/).filter(word => word !== '').length, characters: Array.from(task).length };
const secret = getSecret('${secret}');
const signed = secret === null ? null : createHmac('sha256', secret).update(JSON.stringify(result)).digest('hex');
const answer = JSON.stringify({ ...result, signed });

if (process.env.SANDBOX_OUTPUT) writeFileSync(process.env.SANDBOX_OUTPUT, answer);
console.log(answer);
`;
}
