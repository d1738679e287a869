import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openAudit } from '../../src/audit/index.ts';
import { openStore } from '../../src/store/index.ts';
import { ALL } from '../contracts/journal.ts';
import { newEvent } from '../support/events.ts';
import { WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const page = readFileSync(join(import.meta.dirname, '../../docs/audit.md'), 'utf8');
const program = /```python\n([^`]+)```/.exec(page)?.[1] ?? '';
const ODD = '\b\t\n\f\r\u001f"\\/\u007f\u2028é😀\ud800';

async function exportLines(): Promise<string[]> {
  const directory = tempDir('docs');
  const store = openStore(directory, WRITER);
  for (const tenant of [null, 'a', null, ODD])
    await store.journal.append(
      newEvent({ tenant, subject: ODD, data: { [ODD]: [ODD, 1, -1, 2 ** 53 - 1, true, null, {}] } }),
    );
  const lines: string[] = [];
  for await (const { line } of openAudit(store.journal, directory).export(ALL)) lines.push(line);
  await store.close();
  return lines;
}

const check = (lines: readonly string[]) =>
  spawnSync('python3', ['-c', program], { input: `${lines.join('\n')}\n`, encoding: 'utf8', env: { PYTHONUTF8: '1' } });

describe('docs/audit.md', () => {
  test('its program agrees with us about what is right', async () => {
    const { status, stdout, stderr } = check(await exportLines());
    expect([status, stdout, stderr]).toEqual([0, 'right\n', '']);
  });

  test('and about what is wrong', async () => {
    const lines = await exportLines();
    const [first = ''] = lines;
    expect(check(lines.with(0, first.replace('uid:', 'Uid:'))).stderr).toContain('wrong: entry 1');
    expect(check(lines.toSpliced(0, 1)).status).toBe(1);
    expect(check([...lines, first]).status).toBe(1);
  });
});
