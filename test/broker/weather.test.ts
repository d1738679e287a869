import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodingsOf } from '../../src/base/index.ts';
import type { Skillbox } from '../../src/app.ts';
import { pinsTo } from '../support/broker.ts';
import { EXAMPLES, NO_SANDBOX, openSkillbox, runSkill, textOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { UPSTREAM_ROOT, UpstreamServer } from '../support/upstream.ts';

tidy();
const KEY = 'owm/0123456789+abcdef=Ghij';
const HOST = 'api.openweathermap.org';
const SECRET = 'custom/openweathermap-api-key';
const ME = { id: 'tester', channel: 'local' };

describe.skipIf(NO_SANDBOX)("the seed's example", () => {
  const upstream = new UpstreamServer(true, (request, outgoing) => {
    const query = new URL(request.url, `https://${HOST}`).searchParams;
    if (query.get('appid') !== KEY) return void outgoing.writeHead(401).end('{"cod":401}');
    // A careless host: it says what it was asked.
    outgoing.setHeader('content-type', 'application/json');
    outgoing.end(JSON.stringify({ name: query.get('q'), main: { temp: 21.5 }, asked: request.url, key: KEY }));
  });
  const data = tempDir('weather');
  let skillbox: Skillbox;

  beforeAll(async () => {
    await upstream.start();
    const broker = { pins: pinsTo(upstream.port, [HOST]), roots: [UPSTREAM_ROOT] };
    skillbox = await openSkillbox(data, 'bubblewrap', 0, broker);
    await skillbox.secrets.set(SECRET, Buffer.from(KEY), null, ME);
  });
  afterAll(async () => {
    await skillbox.close();
    await upstream.close();
  });

  test('SK-11 works without the key entering the sandbox', async () => {
    const record = await runSkill(skillbox, join(EXAMPLES, 'seksbot/weather-lookup'), { input: 'Nova Gorica' });
    expect([record.state, record.warnings, textOf(skillbox, record)]).toEqual([
      'succeeded',
      [],
      'asked for the weather in Nova Gorica\n',
    ]);
    expect(record.output).toMatchObject({ name: 'Nova Gorica', main: { temp: 21.5 } });
    expect(upstream.last.headers).not.toHaveProperty('proxy-authorization');
    expectNoKey('the record', JSON.stringify(record));
  });
});

function expectNoKey(where: string, text: string | Buffer): void {
  const bytes = Buffer.from(text);
  for (const form of encodingsOf(KEY)) expect([where, form.toString(), bytes.includes(form)]).toEqual([where, form.toString(), false]);
}
