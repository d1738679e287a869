import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { run } from '../fake-io.ts';
import { EXAMPLES, NO_SANDBOX } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

describe.skipIf(NO_SANDBOX)('skillbox gc', { timeout: 60_000 }, () => {
  it('removes what is older than it is told to keep, and nothing without being told', async () => {
    const data = tempDir('gc');
    const env = { SKILLBOX_DATA_DIR: data, HOME: data };
    const words = ['run', join(EXAMPLES, 'skillbox/word-count'), '--input', '{"text":"a b"}', '--json'];
    expect((await run(words, { env })).code).toBe(0);
    expect((await run(words, { env })).code).toBe(0);
    const database = new DatabaseSync(join(data, 'skillbox.db'));
    database.exec('UPDATE runs SET created_at = created_at - 100 * 86400000 WHERE id = (SELECT min(id) FROM runs)');
    database.close();
    const kept = await run(['gc'], { env });
    expect([kept.code, kept.out]).toEqual([0, 'Nothing is old enough to be removed.\n']);
    const removed = await run(['gc', '--keep', '30d', '--json'], { env });
    expect(JSON.parse(removed.out)).toMatchObject({ runs: 1, snapshots: 0, layers: 0 });
    expect(readdirSync(join(data, 'logs'))).toHaveLength(1);
    expect(JSON.parse((await run(['exec', 'list', '--json'], { env })).out).runs).toHaveLength(1);
    const wrong = await run(['gc', '--keep', 'soon'], { env });
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('30d or 12h')]);
    expect((await run(['audit', 'verify'], { env })).code).toBe(0);
  });
});
