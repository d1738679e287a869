import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXAMPLES, NO_SANDBOX } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { UPSTREAM_ROOT, UpstreamServer } from '../support/upstream.ts';

tidy();
const root = join(import.meta.dirname, '../..');
const PROGRAM = join(root, 'dist/cli/skillbox.cjs');
const KEY = 'owm-key-0123456789';
const HOST = 'api.openweathermap.org';
const isRoot = process.getuid?.() === 0;
const USERS: [string, number][] = isRoot
  ? [
      ['root', 0],
      ['an ordinary user', 65534],
    ]
  : [['this user', process.getuid?.() ?? 0]];

describe.skipIf(NO_SANDBOX).each(USERS)('SK-11 the built program as %s', (_name, uid) => {
  const upstream = new UpstreamServer(true, (request, outgoing) => {
    // The broker is there while the run is: so it can be missed afterwards.
    seen = workingIn(data).length;
    outgoing.end(JSON.stringify({ asked: request.url }));
  });
  let seen = 0;
  const data = tempDir('data');
  const trusted = join(tempDir('ca', 0o755), 'ca.pem');

  beforeAll(async () => {
    if (!existsSync(PROGRAM)) execFileSync(process.execPath, [join(root, 'scripts/build.mjs')], { cwd: root });
    if (isRoot) chownSync(data, uid, uid);
    writeFileSync(trusted, UPSTREAM_ROOT, { mode: 0o644 });
    await upstream.start();
  }, 60_000);
  afterAll(() => upstream.close());

  const skillbox = async (words: string[], input = '', more: Record<string, string> = {}) => {
    const child = spawn(process.execPath, [PROGRAM, ...words], {
      cwd: '/',
      env: {
        SKILLBOX_DATA_DIR: data,
        HOME: data,
        PATH: '/usr/bin:/bin',
        SSL_CERT_FILE: trusted,
        SKILLBOX_BROKER_PINS: `${HOST}:443=127.0.0.1:${upstream.port}`,
        ...more,
      },
      ...(isRoot ? { uid, gid: uid } : {}),
    });
    child.stdin.end(input);
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { code: code as number | null, out, err };
  };

  test('stores a key, runs the example with it, and keeps it to itself', async () => {
    expect(await skillbox(['secret', 'set', 'custom/openweathermap-api-key'], KEY)).toMatchObject({ code: 0 });
    const skill = join(EXAMPLES, 'seksbot/weather-lookup');
    const ran = await skillbox(['run', skill, '--input', '"Lisbon"', '--yes', '--json']);
    expect([ran.code, ran.err.includes(KEY), ran.out.includes(KEY)]).toEqual([0, false, false]);
    const result = JSON.parse(ran.out) as Record<string, unknown>;
    expect(result).toMatchObject({
      status: 'success',
      warnings: [],
      output: { asked: `/data/2.5/weather?units=metric&q=%4c%69%73%62%6f%6e&appid=${'*'.repeat(KEY.length)}` },
    });
    expect(upstream.last.url).toBe(`/data/2.5/weather?units=metric&q=%4c%69%73%62%6f%6e&appid=${KEY}`);
    expect(seen).toBeGreaterThan(0);
    expect(readdirSync(join(data, 'egress'))).toEqual([]);
    expect(workingIn(data)).toEqual([]);
  });

  test('says which setting is wrong', async () => {
    const { code, err } = await skillbox(['exec', 'list'], '', { SKILLBOX_BROKER_PINS: 'api.test=somewhere' });
    expect(code).toBe(2);
    expect(err).toContain('SKILLBOX_BROKER_PINS holds "api.test=somewhere"');
  });
});

/** Processes that work below this data directory. */
function workingIn(data: string): string[] {
  return readdirSync('/proc').filter(pid => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`).startsWith(`${data}/`);
    } catch {
      return false; // ended meanwhile
    }
  });
}
