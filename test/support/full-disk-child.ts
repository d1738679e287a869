/**
 * `node full-disk-child.ts DATA SKILL WORKSPACE`, where DATA is a small file system: runs the skill, fills the disk, runs it
 * again, makes room, runs it once more. Prints one JSON document.
 */
import { closeSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { SkillboxError } from '../../src/base/index.ts';
import { openSkillbox, runSkill } from './skillbox.ts';

const [, , data = '', skill = '', workspace = ''] = process.argv;
const skillbox = await openSkillbox(join(data, 'data'));
const filler = join(data, 'filler');

async function attempt(mark: string): Promise<string> {
  try {
    const run = await runSkill(skillbox, skill, {
      target: { kind: 'script', path: 'scripts/mark.sh', arguments: [mark] },
      workspace,
    });
    return run.state;
  } catch (error) {
    return error instanceof SkillboxError ? error.code : String(error);
  }
}

function fill(): void {
  const file = openSync(filler, 'w');
  try {
    for (let size = 64 * 1024; size >= 1; ) {
      try {
        if (writeSync(file, Buffer.alloc(size)) < size) size = Math.floor(size / 2);
      } catch {
        size = Math.floor(size / 2); // ENOSPC: smaller pieces may still fit
      }
    }
  } finally {
    closeSync(file);
  }
}

const before = await attempt('before');
fill();
const during = await attempt('during');
rmSync(filler);
const after = await attempt('after');
const { wrong } = await skillbox.audit.verify(null, null);
const { entries } = await skillbox.audit.list(
  { types: null, subject: null, sinceMs: null, untilMs: null, tenants: null, beforeSeq: null },
  100,
);
await skillbox.close();
const told = entries.map(({ type }) => type);
process.stdout.write(JSON.stringify({ before, during, after, wrong, told, marks: readdirSync(workspace).sort() }));
