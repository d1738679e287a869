import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { Reply, Skillbox } from '../../src/app.ts';
import { newTool, person, SAYS, withData } from '../support/approvals.ts';
import { script as byPath, NO_SANDBOX, newSkill, runSkill } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const opened: Skillbox[] = [];
afterAll(async () => {
  for (const skillbox of opened) await skillbox.close();
});
const open = async () => {
  const made = await withData();
  opened.push(made.skillbox);
  return made;
};
const by = (channel: Reply['channel']) => async () => ({ answer: 'once', channel, by: 'tester' }) as const;
const MAIN = { kind: 'main' } as const;
const READ_ONLY = { frontmatter: 'read_only: true\n' };

describe.skipIf(NO_SANDBOX)('an agent that drives the command line', () => {
  test.each(['flag', 'elicitation'] as const)(
    'GB-17 a "once" that came by %s is for that run: the first run that a person sees is still to come',
    async channel => {
      const { skillbox } = await open();
      const path = newTool(READ_ONLY);
      expect(await runSkill(skillbox, path, { ...SAYS, ask: by(channel) })).toMatchObject({
        state: 'success',
        decision: { rule: { name: 'gibberish-user-read-only' } },
      });
      expect(await runSkill(skillbox, path, { ...SAYS, ask: null })).toMatchObject({ state: 'waiting' });
      // After a person saw it once, it passes.
      expect(await runSkill(skillbox, path, { ...SAYS, ask: by('terminal') })).toMatchObject({ state: 'success' });
      expect(await runSkill(skillbox, path, { ...SAYS, ask: null })).toMatchObject({ state: 'success' });
    },
  );

  test('GB-18 "deny always" holds for the content, whatever format it is said to be in, and however its entrypoint is called', async () => {
    const { skillbox } = await open();
    const path = newSkill('bash', 'echo hi\n');
    const target = byPath('scripts/main.sh');
    const refused = person('deny-always');
    await runSkill(skillbox, path, { target, trusted: false, ask: refused.ask });
    expect(refused.seen).toHaveLength(1);
    // Trusted since: with the least power it would run unasked.
    for (const other of [{ dialect: 'skillbox' }, { dialect: 'agent-skills' }, { target: MAIN }] as const)
      expect(await runSkill(skillbox, path, { target, ...other, ask: null }), JSON.stringify(other)).toMatchObject({
        startedAt: null,
        decision: { verdict: 'deny', rule: { name: 'denied-before' } },
      });
  });
});
