import { describe, expect, test } from 'vitest';
import { makeZip } from '../skill/make-zip.ts';
import { bytesOf } from '../support/record.ts';
import { openService, startOf } from '../support/service.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';
import { tidy } from '../support/temp.ts';

tidy();

/** A seksbot manifest has no place for a version. */
const seksbotZip = (name: string, capabilities: string): Buffer =>
  makeZip([
    { name: 'skill.yaml', content: `name: ${name}\ndescription: made for a test\ncapabilities: ${capabilities}\n` },
    { name: 'SKILL.md', content: '# Made for a test\n' },
    { name: 'main.sh', content: 'echo done\n' },
  ]);

describe.skipIf(NO_SANDBOX)('X-12 a skill without a version of its own', () => {
  test('runs as the version under which it was published, also where the content is the same', async () => {
    const opened = await openService();
    try {
      const one = opened.as('one', 'first');
      for (const version of ['1.0.0', '1.1.0'])
        await one.skills.publish(bytesOf(seksbotZip('plain', '[]\ncontainer_network: none')), { tags: [], version });
      for (const [version, expected] of [
        ['1.0.0', '1.0.0'],
        [null, '1.1.0'],
      ] as const) {
        const { id } = await one.runs.start(startOf('plain', { version }), { idempotencyKey: null });
        const run = await one.runs.wait(id, { timeoutMs: 30_000, signal: null });
        expect(run).toMatchObject({ state: 'success', skill: { name: 'plain', version: expected } });
      }
      await one.skills.publish(bytesOf(seksbotZip('asks', '[custom/loose]')), { tags: [], version: '2.0.0' });
      const waiting = await one.runs.start(startOf('asks'), { idempotencyKey: null });
      expect(waiting).toMatchObject({ state: 'waiting', skill: { version: '2.0.0' } });
      const second = opened.as('one', 'second');
      expect((await second.approvals.question(waiting.id)).skill).toMatchObject({ name: 'asks', version: '2.0.0' });
    } finally {
      await opened.close();
    }
  });
});
