import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunRequest, Skillbox } from '../../src/app.ts';
import { type Call, readSkill } from '../../src/dialects/index.ts';
import { openFolder } from '../../src/skill/index.ts';
import { EXAMPLES, NO_SANDBOX, openSkillbox, PROBES, runSkill, tool } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

describe.skipIf(NO_SANDBOX)('a run is planned under the policies in force', () => {
  let skillbox: Skillbox;
  beforeAll(async () => {
    skillbox = await openSkillbox(tempDir('data'));
  });
  afterAll(() => skillbox?.close());

  async function plan(path: string, target: Call['target'], workspace: string | null = null) {
    const folder = await openFolder(path);
    try {
      const { skill } = readSkill(folder, { mode: 'lenient', dialect: null });
      if (skill === null) throw new Error(path);
      const call: Call = { target, input: {}, stdin: null, mode: 'Global', callerEnv: {} };
      const request: RunRequest = { skill, folder, call, env: {}, workspace, timeoutMs: null };
      return (await skillbox.plan(request)).considered.planned;
    } finally {
      folder.close();
    }
  }
  const project = (policy: string) => writeFiles(tempDir('project', 0o755), { '.skillbox/policy.yaml': policy });

  test('what the workspace’s project requires of the sandbox is required, and a run that lacks it does not start', async () => {
    const workspace = project('version: 1\nleast: {workspace: kernel-tree}\n');
    const { spec, wish, policies } = await plan(join(EXAMPLES, 'gibberish/git'), tool('git_log'), workspace);
    expect(spec.requires.get('workspace')).toBe('kernel-tree');
    expect(spec.requires.get('files')).toBe('kernel-tree');
    expect(policies.projects).toHaveLength(1);
    expect(wish).toMatchObject({ trust: 'bundled', grant: { workspace: { path: workspace, writable: false } } });
    await expect(
      runSkill(skillbox, join(EXAMPLES, 'gibberish/git'), { target: tool('git_log'), workspace }),
    ).rejects.toMatchObject({ code: 'SANDBOX_CANNOT_ENFORCE' });
  });

  test('GB-09 a strict project refuses a value that begins with a dash, before anything is made', async () => {
    const strict = project('version: 1\nstrict: true\n');
    const lax = tempDir('project', 0o755);
    mkdirSync(join(lax, '.git'));
    const target = tool('report', { words: ['-rf'] });
    const path = join(PROBES, 'tool-probe');
    await expect(plan(path, target, strict)).rejects.toMatchObject({ code: 'INVALID_CALL' });
    expect((await plan(path, target, lax)).warnings).toContain(
      'the value of "words" begins with "-" and may be read as an option',
    );
  });
});
