import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Question } from '../../src/app.ts';
import { NO_SANDBOX, openSkillbox, runSkill } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

describe.skipIf(NO_SANDBOX)('what is said before anybody agrees', () => {
  test('SK-08 capabilities that can carry data to others are named as that, also behind a wildcard', async () => {
    const skillbox = await openSkillbox(join(tempDir('asked'), 'data'));
    const path = writeFiles(tempDir('skill', 0o755), {
      'skill.yaml':
        'version: 1\nname: teller\ndescription: Tells.\ncapabilities:\n  - discord/messages.send\n  - github/*\n  - brave/web.search\n',
      'SKILL.md': '# Teller\n\nTell.\n',
      'index.js': '',
    });
    let asked: Question | null = null;
    await runSkill(skillbox, path, {
      ask: async question => {
        asked = question;
        return { answer: 'deny', channel: 'terminal', by: 'tester' };
      },
    });
    const { reasons } = asked ?? { reasons: [] as string[] };
    expect(reasons).toContain(
      'With discord/messages.send it can send messages into channels: others can read what it sends.',
    );
    expect(reasons.join()).toContain('github/gists.create');
    expect(reasons.join()).not.toMatch(/With (?:brave|github\/repos\.read)/);
    await skillbox.close();
  });
});
