import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addKey, type Served, serveMcp } from '../support/mcp.ts';
import { EXAMPLES, NO_SANDBOX } from '../support/skillbox.ts';
import { tempDirectory } from '../temp.ts';

const run = promisify(execFile);
const FIXTURES = join(import.meta.dirname, '../fixtures/mcp');
const packageFile = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json');
const SUITE = join(dirname(packageFile), 'dist/index.js');

type Known = Record<string, { checks: string[]; reason: string }>;
/** What the published suite finds and why that stays; and scenarios that are not run at all. */
const known = JSON.parse(readFileSync(join(import.meta.dirname, 'conformance.json'), 'utf8')) as {
  failures: Record<string, Known>;
  notRun: Record<string, string>;
};

const temp = tempDirectory();
let served: Served;
let keyed: { url: string; close(): Promise<void> };

/** Each scenario with the ids of its checks that failed. */
async function runSuite(name: string, ...more: string[]): Promise<Map<string, string[]>> {
  const output = join(temp, name);
  // A scenario that fails makes the program fail too; what failed stands in the files.
  await run(process.execPath, [SUITE, 'server', '--url', keyed.url, '-o', output, '--timeout', '20000', ...more]).catch(
    () => undefined,
  );
  const results = new Map<string, string[]>();
  for (const folder of readdirSync(output)) {
    const scenario = folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
    const checks = JSON.parse(readFileSync(join(output, folder, 'checks.json'), 'utf8')) as {
      id: string;
      status: string;
    }[];
    results.set(scenario, [...new Set(checks.filter(({ status }) => status === 'FAILURE').map(({ id }) => id))].sort());
  }
  return results;
}

function expected(version: string): Record<string, string[]> {
  const of = known.failures[version] ?? {};
  return Object.fromEntries(Object.entries(of).map(([scenario, { checks }]) => [scenario, [...checks].sort()]));
}

function failed(results: ReadonlyMap<string, string[]>): Record<string, string[]> {
  return Object.fromEntries([...results].filter(([, checks]) => checks.length > 0));
}

describe.skipIf(NO_SANDBOX)('the published conformance suite of MCP', () => {
  const ran = new Set<string>();

  beforeAll(async () => {
    const home = join(temp, 'home');
    const workspace = join(temp, 'workspace');
    mkdirSync(home);
    mkdirSync(workspace);
    const bundled = [join(FIXTURES, 'vouched'), EXAMPLES];
    const dirs = [join(FIXTURES, 'strange')];
    served = await serveMcp({ dataDirectory: join(temp, 'data'), home, dirs, bundled, workspace });
    keyed = await addKey(served.url);
  });

  afterAll(async () => {
    await keyed.close();
    await served.close();
  });

  // What fails here and is not listed is a regression; what is listed and passes must leave the list.
  test.each(['2025-11-25', '2026-07-28'])(
    'AS-12: %s',
    async version => {
      const results = await runSuite(version, '--suite', 'all', '--spec-version', version);
      for (const scenario of results.keys()) ran.add(scenario);
      expect(failed(results)).toEqual(expected(version));
    },
    120_000,
  );

  test.each(['sep-2640-skills-directory', 'sep-2640-skills-enumeration', 'sep-2640-skills-manifest'])(
    'skills over MCP: %s',
    async scenario => {
      const results = await runSuite(scenario, '--scenario', scenario);
      ran.add(scenario);
      expect(results).toEqual(new Map([[scenario, []]]));
    },
    60_000,
  );

  test('every server scenario is run, or is named with the reason why not', async () => {
    const { stdout } = await run(process.execPath, [SUITE, 'list', '--server']);
    const all = [...stdout.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name ?? '');
    expect(all.length).toBeGreaterThan(50);
    expect(all.filter(name => !ran.has(name)).sort()).toEqual(Object.keys(known.notRun).sort());
    for (const reason of Object.values(known.notRun)) expect(reason).toMatch(/\w{3}/);
  });

  test('every expected failure has its reason', () => {
    for (const of of Object.values(known.failures)) {
      for (const { reason, checks } of Object.values(of)) {
        expect(reason).toMatch(/\w{3}/);
        expect(checks.length).toBeGreaterThan(0);
      }
    }
  });
});
