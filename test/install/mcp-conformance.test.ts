import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { tempDirectory } from '../temp.ts';

const run = promisify(execFile);
const temp = tempDirectory();
const packageFile = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json');
const SUITE = join(dirname(packageFile), 'dist/index.js');
const HOST = join(import.meta.dirname, '../support/mcp-host.ts');

const SCENARIOS: [string, string][] = [
  ['sep-2640-client-no-prefetch', 'sep-2640-host-no-prefetch'],
  ['sep-2640-client-verify-digest', 'sep-2640-host-verify-digest'],
  ['sep-2640-client-verify-size', 'sep-2640-host-size-mismatch-failure'],
  ['sep-2640-client-verify-frontmatter', 'sep-2640-host-frontmatter-comparison'],
];

describe('the published conformance suite of MCP: a host of skills', () => {
  test('every client scenario of the extension is run here', async () => {
    const { stdout } = await run(process.execPath, [SUITE, 'list', '--client']);
    const all = [...stdout.matchAll(/sep-2640[\w-]*/g)].map(([name]) => name);
    expect(new Set(all)).toEqual(new Set(SCENARIOS.map(([scenario]) => scenario)));
  });

  test.each(SCENARIOS)(
    '%s',
    async (scenario, check) => {
      const output = join(temp, scenario);
      const env = { PATH: process.env.PATH ?? '', TMPDIR: join(temp, `${scenario}-tmp`) };
      mkdirSync(env.TMPDIR);
      const command = `"${process.execPath}" "${HOST}"`;
      await run(process.execPath, [SUITE, 'client', '--command', command, '--scenario', scenario, '-o', output], {
        env,
      });
      const [folder = ''] = readdirSync(output);
      const checks = JSON.parse(readFileSync(join(output, folder, 'checks.json'), 'utf8')) as object[];
      expect(checks).toEqual([expect.objectContaining({ id: check, status: 'SUCCESS' })]);
    },
    60_000,
  );
});
