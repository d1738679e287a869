import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { startModel } from '../support/model-stub.ts';
import { NO_SANDBOX } from '../support/skillbox.ts';
import { tempDirectory } from '../temp.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const temp = tempDirectory();

describe.skipIf(NO_SANDBOX).each(['openai', 'anthropic', 'ai-sdk'])('examples/agents/%s.ts', name => {
  const path = join(root, 'examples/agents', `${name}.ts`);

  test('is about twenty lines', () => {
    expect(readFileSync(path, 'utf8').split('\n').length).toBeLessThan(26);
  });

  test('AS-12: finds, activates and runs a skill with the real package', async () => {
    const model = await startModel([
      { name: 'activate_skill', input: { name: 'word-count' } },
      { name: 'run_skill', input: { skill: 'word-count', input: { text: 'to be or not' } } },
    ]);
    const home = mkdtempSync(join(temp, 'home-'));
    mkdirSync(join(home, 'work'));
    try {
      const env = {
        PATH: process.env.PATH ?? '',
        HOME: home,
        SKILLBOX_DATA_DIR: join(home, 'data'),
        OPENAI_API_KEY: 'none',
        OPENAI_BASE_URL: `${model.url}/v1`,
        ANTHROPIC_API_KEY: 'none',
        ANTHROPIC_BASE_URL: model.url,
        AI_GATEWAY_API_KEY: 'none',
        AI_GATEWAY_BASE_URL: model.url,
      };
      const { stdout, stderr } = await run(process.execPath, [path, 'How many words?'], {
        cwd: join(home, 'work'),
        env,
      });
      // Where a package warns, of a model that ends soon for one.
      expect(stderr).toBe('');
      expect(stdout).toMatch(/^heard: .*words\S* 4,/);
      expect(model.requests).toHaveLength(3);
      expect(JSON.stringify(model.requests[0])).toContain('"activate_skill"');
      expect(JSON.stringify(model.requests[1])).toContain('skill_content name');
    } finally {
      await model.close();
    }
  }, 30_000);
});
