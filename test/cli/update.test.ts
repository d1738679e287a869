import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run } from '../fake-io.ts';
import { newTool } from '../support/approvals.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

describe.skipIf(NO_SANDBOX)('an update', () => {
  test('X-10 what was allowed for the old bytes is asked again for the new ones', async () => {
    const home = tempDir('home');
    const env = { HOME: home, SKILLBOX_DATA_DIR: join(tempDir('data'), 'data'), PATH: '/usr/bin:/bin' };
    const cwd = tempDir('cwd', 0o755);
    const cli = (...words: string[]) => run(words, { cwd, env });
    const source = newTool();
    mkdirSync(join(home, '.claude'));
    expect((await cli('add', source, '--global', '--yes')).code).toBe(0);
    const words = ['run', 'echoer', 'say', '--param', 'text=x', '--json'];
    const { execution_id: id } = JSON.parse((await cli(...words)).out);
    expect((await run(['approve', 'allow', id, '--always'], { cwd, env, answers: [] })).code).toBe(0);
    expect(JSON.parse((await cli(...words)).out)).toMatchObject({ status: 'success', approval: null });

    const script = join(source, 'scripts/say.sh');
    writeFileSync(script, readFileSync(script, 'utf8').replace('first', 'second'));
    const updated = await cli('update', '--global', '--yes');
    expect(updated.out).toContain('+echo "second: $1"');
    expect(updated.err).toContain('asked again');
    expect((await cli(...words)).code).toBe(4);
  });
});
