import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Skillbox } from '../../src/app.ts';
import { startBroker } from '../../src/broker/index.ts';
import { BROKER_PORT } from '../../src/runs/broker.ts';
import { person } from '../support/approvals.ts';
import { briefOf, KEY, newToken, OTHER_KEY, pinsTo } from '../support/broker.ts';
import { journalOf } from '../support/journal.ts';
import { childrenOf, commandOf } from '../support/processes.ts';
import { EXAMPLES, NO_SANDBOX, openSkillbox, runSkill, textOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { UPSTREAM_ROOT, UpstreamServer } from '../support/upstream.ts';
import { writeFiles } from '../temp.ts';

tidy();
const HOSTS = ['api.anthropic.com', 'api.openweathermap.org', 'hooks.test'];
const ME = { id: 'tester', channel: 'local' };
const ONCE = { answer: 'once' as const, channel: 'terminal' as const, by: 'tester' };

/** A seksbot skill made for one test. */
function newSkill(capabilities: string[], main: string, more = ''): string {
  const list = capabilities.map(name => `\n  - ${name}`).join('') || ' []';
  return writeFiles(tempDir('skill', 0o755), {
    'skill.yaml': `name: probe\ndescription: made for a test\ncapabilities:${list}\n${more}`,
    'SKILL.md': '# Probe\n',
    'main.sh*': `#!/usr/bin/env bash\n${main}`,
  });
}

describe.skipIf(NO_SANDBOX).each([
  ['cold', 0],
  ['from the pool', 8],
])('runs with a broker, %s', (_, warm) => {
  const upstream = new UpstreamServer(true);
  const data = tempDir('broker-runs');
  let skillbox: Skillbox;

  beforeAll(async () => {
    await upstream.start();
    skillbox = await openSkillbox(data, 'bubblewrap', warm, {
      pins: pinsTo(upstream.port, HOSTS),
      roots: [UPSTREAM_ROOT],
    });
    await skillbox.secrets.set('anthropic', Buffer.from(KEY), null, ME);
    await skillbox.secrets.set('custom/hook', Buffer.from(OTHER_KEY), ['hooks.test'], ME);
    await skillbox.secrets.set('custom/loose', Buffer.from('loose-value-0123456789'), [], ME);
  });
  afterAll(async () => {
    await skillbox?.close();
    await upstream.close();
  });
  // Whatever was asked for before is held ready: then only the first run of a kind may go the cold way.
  const held = () => {
    const { keys, standby } = skillbox.warmth();
    return warm === 0 || [...keys, ...standby.keys].every(({ ready }) => ready > 0);
  };
  beforeEach(() => expect.poll(held, { timeout: 10_000 }).toBe(true));
  afterEach(() => {
    upstream.requests.splice(0);
    upstream.answer = (_request, outgoing) => void outgoing.end('fine\n');
  });

  test('SK-09 an example that asks a model, with the real key put in on the way', async () => {
    upstream.answer = (_request, outgoing) => {
      outgoing.setHeader('content-type', 'application/json');
      outgoing.end(
        JSON.stringify({
          content: [{ type: 'text', text: 'A quiet day.' }],
          usage: { input_tokens: 9, output_tokens: 3 },
        }),
      );
    };
    const record = await runSkill(skillbox, join(EXAMPLES, 'seksbot/daily-note'), { input: 'rain' });
    expect([record.state, record.output]).toEqual(['success', { note: 'A quiet day.' }]);
    expect(upstream.last.headers['x-api-key']).toBe(KEY);
    const called = (await journalOf(skillbox, record.id)).find(({ type }) => type === 'broker.called');
    expect(called?.data).toMatchObject({
      capability: 'anthropic/messages.create',
      method: 'POST',
      host: 'api.anthropic.com',
      path: '/v1/messages',
      status: 200,
      tokens: 12,
      skill: { name: 'daily-note' },
    });
  });

  describe('capabilities that the caller gives to a skill of another dialect', () => {
    const ask = 'curl -s -d "{}" "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: $ANTHROPIC_API_KEY" || echo nothing';
    const plain = () =>
      writeFiles(tempDir('skill', 0o755), {
        'SKILL.md': '---\nname: plain\ndescription: Asks. Use in tests.\n---\n# Plain\n',
        'scripts/ask.sh*': `#!/usr/bin/env bash\n${ask}\n`,
      });
    const target = { kind: 'script' as const, path: 'scripts/ask.sh', arguments: [] };
    const capabilities = ['anthropic/messages.create'];

    test('SK-05 it has them for this run, and without them it has nothing', async () => {
      const skill = plain();
      expect(await textOf(skillbox, await runSkill(skillbox, skill, { target }))).toBe('nothing\n');
      const record = await runSkill(skillbox, skill, { target, capabilities });
      expect(await textOf(skillbox, record)).toBe('fine\n');
      expect(upstream.requests.map(({ headers }) => headers['x-api-key'])).toEqual([KEY]);
      const minted = (await journalOf(skillbox, record.id)).find(({ type }) => type === 'token.minted');
      expect(minted?.data).toMatchObject({ capabilities });
    });

    test('people are asked all the same, and a run that waited has what was asked', async () => {
      const waiting = await runSkill(skillbox, plain(), { target, capabilities, ask: null });
      expect(waiting.state).toBe('waiting');
      const { reasons } = await skillbox.approvals.question(waiting.id);
      expect(reasons).toContain('It uses anthropic/messages.create.');
      expect(reasons).toContain(
        'Whoever runs it gives it anthropic/messages.create: the skill itself does not ask for that.',
      );
      const reply = { answer: 'once', channel: 'terminal', by: 'tester' } as const;
      const hooks = { signal: null, onState: () => undefined, onChunk: () => undefined, onBuild: () => undefined };
      const record = await skillbox.approvals.settle(waiting.id, reply, hooks);
      expect([record.state, await textOf(skillbox, record)]).toEqual(['success', 'fine\n']);
    });

    test('what nobody knows is told before anybody is asked', async () => {
      const wish = { target, capabilities: ['anthropic/messages.creat'], ask: null };
      await expect(runSkill(skillbox, plain(), wish)).rejects.toMatchObject({
        code: 'CAPABILITY_UNKNOWN',
        hint: expect.stringContaining('anthropic/messages.create'),
      });
      await expect(runSkill(skillbox, plain(), { ...wish, capabilities: ['custom/*'] })).rejects.toMatchObject({
        code: 'CAPABILITY_UNKNOWN',
      });
    });
  });

  test('who started the run hears of a SSL_CERT_FILE that is not there', async () => {
    const given = process.env.SSL_CERT_FILE;
    process.env.SSL_CERT_FILE = join(data, 'no-roots.pem');
    try {
      const { state, warnings } = await runSkill(skillbox, newSkill(['custom/loose'], 'seksh list'));
      expect([state, warnings]).toEqual([
        'success',
        [expect.stringContaining(`${join(data, 'no-roots.pem')}, which is not there`)],
      ]);
    } finally {
      if (given === undefined) delete process.env.SSL_CERT_FILE;
      else process.env.SSL_CERT_FILE = given;
    }
  });

  test('who started the run hears of hosts that were not reached and of limits, once each', async () => {
    const skill = newSkill(
      ['anthropic/messages.create', 'custom/gone'],
      `
      for i in 1 2; do curl -s -o /dev/null https://gone.test/; done
      curl -s -o /dev/null https://gone.test/ https://evil.test/
      head -c 40000000 /dev/zero | curl -s -o /dev/null --data-binary @- "$ANTHROPIC_BASE_URL/v1/messages" -H "x-api-key: $ANTHROPIC_API_KEY"
      `,
    );
    await skillbox.secrets.set('custom/gone', Buffer.from(OTHER_KEY), ['gone.test'], ME);
    const { warnings } = await runSkill(skillbox, skill);
    expect(warnings).toEqual([
      expect.stringContaining('gone.test'),
      expect.stringMatching(/^api\.anthropic\.com: a body of at most \d+ bytes/),
    ]);
  });

  test('SK-14 SK-16 the run finds its variables, and the journal every use, refusal and release', async () => {
    const skill = newSkill(
      ['anthropic/messages.create', 'custom/hook', 'custom/loose'],
      `
      echo "$SEKS_BROKER_URL $ANTHROPIC_BASE_URL $SEKS_SKILL_NAME"
      [ "$SEKS_AGENT_TOKEN" = "$SEKS_BROKER_TOKEN" ] && [ "$ANTHROPIC_API_KEY" = "$SEKS_AGENT_TOKEN" ] && echo tokens
      echo "[$OPENAI_BASE_URL] $NO_PROXY $no_proxy"
      curl -s "$SEKS_BROKER_URL/v1/health"
      curl -s -H "authorization: Bearer $SEKS_AGENT_TOKEN" "$SEKS_BROKER_URL/v1/secrets/list"
      curl -s -H "authorization: Bearer $SEKS_AGENT_TOKEN" -d '{"name":"custom/loose"}' "$SEKS_BROKER_URL/v1/secrets/get" | wc -c
      curl -s -H "authorization: Bearer $SEKS_AGENT_TOKEN" -d '{"method":"POST","url":"https://hooks.test/x","headers":{"x-hook":"'$(seksh get custom/hook)'"},"body":"b"}' "$SEKS_BROKER_URL/v1/proxy/request"
      curl -s -H "authorization: Bearer $SEKS_AGENT_TOKEN" -d '{}' "$SEKS_BROKER_URL/v1/proxy/anthropic/v1/messages"
      curl -s -o /dev/null -w '%{http_code}\\n' -H "authorization: Bearer $SEKS_AGENT_TOKEN" -d '{"capabilities":["openai/*"]}' "$SEKS_BROKER_URL/v1/tokens/scoped"
      seksh get custom/other 2>/dev/null; echo $?
      seksh get custom/loose
      `,
    );
    const record = await runSkill(skillbox, skill);
    expect((await textOf(skillbox, record)).split('\n')).toEqual([
      'http://127.0.0.1:3128 http://127.0.0.1:3128/api/anthropic probe',
      'tokens',
      '[] 127.0.0.1:3128,localhost,127.0.0.1,::1 127.0.0.1:3128,localhost,127.0.0.1,::1',
      '{"status":"ok"}',
      '{"secrets":["custom/hook","custom/loose"],"capabilities":["anthropic/messages.create"]}',
      '82',
      'fine',
      'fine',
      '403',
      '3',
      // SK-10: what was released is scrubbed from the log.
      '<secret:custom/loose>',
    ]);
    expect(upstream.requests.map(({ headers }) => [headers['x-hook'], headers['x-api-key']])).toEqual([
      [OTHER_KEY, undefined],
      [undefined, KEY],
    ]);
    const lines = await journalOf(skillbox, record.id);
    const told = lines
      .filter(({ type }) => /^(?:broker|secret|token)\./.test(type))
      .map(({ type, data }) => [type, data.capability ?? null]);
    expect(told).toEqual([
      ['token.minted', null],
      ['secret.released', 'custom/loose'],
      ['broker.called', 'custom/hook'],
      ['broker.called', 'anthropic/messages.create'],
      ['broker.refused', null],
      ['secret.refused', 'custom/other'],
      ['secret.released', 'custom/loose'],
      ['token.revoked', null],
    ]);
    for (const value of [KEY, OTHER_KEY, 'loose-value']) expect(JSON.stringify([lines, record])).not.toContain(value);
  });

  test('SK-10 what a run was given is not in the journal, wherever it put it', async () => {
    const skill = newSkill(
      ['custom/hook', 'custom/loose'],
      'v=$(seksh get custom/loose); seksh http GET "https://hooks.test/$v"; seksh http GET "https://$v.test/$SEKS_AGENT_TOKEN" 2>/dev/null',
    );
    const record = await runSkill(skillbox, skill);
    expect(upstream.last.url).toBe('/loose-value-0123456789');
    const lines = (await journalOf(skillbox, record.id)).filter(({ type }) => type.startsWith('broker.'));
    expect(lines.map(({ type, data: told }) => [type, told.path ?? told.host])).toEqual([
      ['broker.called', '/<secret:custom/loose>'],
      ['broker.refused', '<secret:custom/loose>.test'],
    ]);
  });

  test('SK-10 nor is the beginning of it, where what is told is cut', async () => {
    const value = 'loose-value-0123456789';
    const skill = newSkill(
      ['custom/hook', 'custom/loose'],
      `
      v=$(seksh get custom/loose); x=$(printf %0190d 0); y=$(printf %0290d 0)
      seksh http GET "https://hooks.test/$x$v"; seksh http GET "https://api.anthropic.com/$x$v" 2>/dev/null
      curl -s -o /dev/null -p "https://$y$v/"; curl -s -o /dev/null -d "{\\"name\\":\\"custom/$x$v\\"}" "$SEKS_BROKER_URL/v1/secrets/get" -H "authorization: Bearer $SEKS_AGENT_TOKEN"
      `,
    );
    const record = await runSkill(skillbox, skill);
    const lines = (await journalOf(skillbox, record.id)).filter(({ type }) => /^broker|^secret.refused/.test(type));
    expect(lines.map(({ type }) => type)).toEqual([
      'broker.called',
      'broker.refused',
      'broker.refused',
      'secret.refused',
    ]);
    expect(JSON.stringify(lines)).not.toContain(value.slice(0, 7));
    for (const { data: told } of lines)
      for (const each of Object.values(told)) expect(String(each).length).toBeLessThan(400);
  });

  test('SK-16 calls that the end of the run cuts off are told before the end of its token', async () => {
    upstream.answer = () => undefined;
    const skill = newSkill(
      ['custom/hook'],
      'for i in 1 2 3 4; do seksh http POST "https://hooks.test/$i" -d stolen & done; sleep 0.5',
    );
    const record = await runSkill(skillbox, skill);
    const told = (await journalOf(skillbox, record.id)).filter(({ type }) => /^(?:broker|token)\./.test(type));
    expect(told.map(({ type }) => type)).toEqual(['token.minted', ...Array(4).fill('broker.called'), 'token.revoked']);
    for (const { data } of told.slice(1, -1)) expect(data).toMatchObject({ status: null, sent: 6 });
  });

  test('SK-06 without the secret there is no token, and without a token no run', async () => {
    const skill = newSkill(['anthropic/messages.create', 'custom/nowhere'], 'echo started');
    const { ask, seen } = person('once');
    await expect(runSkill(skillbox, skill, { ask })).rejects.toMatchObject({ code: 'SECRET_MISSING' });
    // Whoever is asked sees it before they answer.
    expect(seen[0]?.warnings).toEqual([
      'custom/nowhere is not set, and without it nothing would run: skillbox secret set custom/nowhere',
    ]);
    const [record] = await skillbox.listRuns({ states: null, limit: 1 });
    expect([record?.state, record?.logBytes, record?.startedAt]).toEqual(['failed', 0, null]);
  });

  describe('an answer, when what a capability stands for changes', () => {
    const provider = (path: string, host = 'hooks.test') =>
      `version: 1\nname: acme\ntitle: Acme\nurl: https://${host}\nauth:\n  form: bearer\nendpoints:\n  orders.read:\n    what: read orders\n    requests: GET ${path}\n`;
    const add = async (text: string) => {
      const file = join(tempDir('provider'), 'acme.yaml');
      writeFileSync(file, text);
      await skillbox.providers.add(file, ME);
    };
    const asked = async (skill: string) => {
      const { ask, seen } = person('always');
      await expect.poll(held, { timeout: 10_000 }).toBe(true);
      await runSkill(skillbox, skill, { ask });
      return seen.length;
    };
    const nobody = { signal: null, onState: () => {}, onChunk: () => {}, onBuild: () => {} };
    beforeEach(async () => {
      await add(provider('/orders'));
      await skillbox.secrets.set('acme', Buffer.from('acme-key-0123456789'), null, ME);
    });

    test('"always" is asked again, and holds for what it stands for then', async () => {
      const skill = newSkill(['acme/orders.read'], 'true');
      expect([await asked(skill), await asked(skill)]).toEqual([1, 0]);
      await add(provider('/all/**'));
      expect([await asked(skill), await asked(skill)]).toEqual([1, 0]);
      await add(provider('/all/**', 'elsewhere.test'));
      expect(await asked(skill)).toBe(1);
      await add(provider('/orders'));
      expect(await asked(skill)).toBe(0); // that very thing was allowed
    });

    test('a waiting run is not allowed as something else', async () => {
      const { id } = await runSkill(skillbox, newSkill(['acme/orders.read'], 'echo started'), { ask: null });
      await add(provider('/all/**'));
      const settled = await skillbox.approvals.settle(id, ONCE, nobody);
      expect([settled.state, settled.startedAt, settled.error?.message]).toEqual([
        'failed',
        null,
        expect.stringContaining('is not what was asked'),
      ]);
    });

    test('a waiting run whose capability nobody knows any more can be denied', async () => {
      const { id } = await runSkill(skillbox, newSkill(['acme/orders.read'], 'echo denied'), { ask: null });
      const given = await runSkill(skillbox, newSkill([], 'true'), { ask: null, capabilities: ['acme/orders.read'] });
      await skillbox.providers.remove('acme', ME);
      await expect(skillbox.approvals.settle(given.id, ONCE, nobody)).rejects.toMatchObject({
        message: expect.stringContaining('nobody knows'),
      });
      for (const one of [id, given.id]) {
        const denied = await skillbox.approvals.settle(one, { ...ONCE, answer: 'deny' }, nobody);
        expect([denied.state, denied.ending]).toEqual(['failed', { kind: 'denied' }]);
        expect((await journalOf(skillbox, one)).map(({ type }) => type)).toContain('approval.denied');
      }
    });

    test('a yes to a run that lacks a secret does not use it up', async () => {
      await skillbox.secrets.remove('acme', ME);
      const { id } = await runSkill(skillbox, newSkill(['acme/orders.read'], 'echo lacking'), { ask: null });
      await expect(skillbox.approvals.settle(id, ONCE, nobody)).rejects.toMatchObject({
        code: 'SECRET_MISSING',
        message: 'not set: acme; the run waits on',
      });
      await skillbox.secrets.set('acme', Buffer.from('acme-key-0123456789'), null, ME);
      expect((await skillbox.approvals.settle(id, ONCE, nobody)).state).toBe('success');
    });
  });

  test('SK-11 container_network none: no broker, no token, no address', async () => {
    const skill = newSkill(
      ['custom/loose'],
      'env | grep -c -i -E "seks_(broker|agent)|proxy"; seksh list 2>/dev/null; echo $?',
      'container_network: none\n',
    );
    const record = await runSkill(skillbox, skill);
    expect((await textOf(skillbox, record)).trim().split('\n')).toEqual(['0', '2']);
  });

  test('SK-10 the exit codes of seksh', async () => {
    upstream.answer = (request, outgoing) => void outgoing.writeHead(request.url === '/lost' ? 404 : 200).end('body\n');
    const skill = newSkill(
      ['custom/hook'],
      `
      code() { "$@" >/dev/null 2>&1; echo -n "$? "; }
      code seksh list; code seksh get; code seksh get custom/bad/name; code seksh http GET ftp://x/; code seksh nothing
      code seksh get custom/other; code seksh get anthropic/messages.create; code seksh http GET https://evil.test/
      code seksh http GET https://hooks.test/lost
      code env -u SEKS_BROKER_URL seksh list; code env -u SEKS_AGENT_TOKEN seksh list
      code env SEKS_BROKER_URL=http://127.0.0.1:9 seksh list; code env SEKS_BROKER_URL=http://evil.test:80 seksh list
      code env SEKS_AGENT_TOKEN=wrong seksh list
      echo
      seksh http POST https://hooks.test/ok -H 'x-one: 1' -d 'a b' && printf %s 'from stdin' | seksh http PUT https://hooks.test/in -d @-
      `,
    );
    const record = await runSkill(skillbox, skill);
    expect(await textOf(skillbox, record)).toBe('0 1 1 1 1 3 3 3 4 2 2 5 2 3 \nbody\nbody\n');
    expect(upstream.requests.slice(1).map(({ method, body, headers }) => [method, body, headers['x-one']])).toEqual([
      ['POST', 'a b', '1'],
      ['PUT', 'from stdin', undefined],
    ]);
  });

  test('SK-10 seksh waits for no body where there is none, and takes an interim answer for none', async () => {
    upstream.answer = ({ url }, outgoing) =>
      void outgoing.writeHead(Number(url.slice(1)), { 'content-length': 5 }).end(url === '/304' ? '' : 'body\n');
    const skill = newSkill(
      ['custom/hook'],
      `
      code() { "$@" 2>/dev/null; echo "$?"; }
      code seksh http HEAD https://hooks.test/200
      code seksh http HEAD https://hooks.test/404
      code seksh http GET https://hooks.test/304
      code seksh http POST https://hooks.test/200 -H 'Expect: 100-continue' -d x
      code seksh http POST https://hooks.test/403 -H 'Expect: 100-continue' -d x
      `,
    );
    const record = await runSkill(skillbox, skill);
    expect((await textOf(skillbox, record)).trim().split('\n')).toEqual(['0', '4', '0', 'body', '0', 'body', '3']);
  });

  test('broker killed in the middle: requests fail, the run goes on, nothing is let out', async () => {
    upstream.answer = (request, outgoing) => {
      if (request.url === '/second') for (const pid of brokersOf(process.pid)) process.kill(pid, 'SIGKILL');
      outgoing.end('fine\n');
    };
    const skill = newSkill(
      ['custom/hook'],
      `
      seksh http GET https://hooks.test/first; echo $?
      seksh http GET https://hooks.test/second 2>/dev/null; echo $?
      seksh http GET https://hooks.test/third 2>/dev/null; echo $?
      curl -s -o /dev/null --noproxy '*' https://hooks.test/fourth; echo $?
      echo still here
      `,
    );
    const record = await runSkill(skillbox, skill);
    expect((await textOf(skillbox, record)).trim().split('\n')).toEqual(['fine', '0', '5', '5', '6', 'still here']);
    expect([record.state, record.warnings]).toEqual(['success', [expect.stringContaining('the broker died')]]);
    expect((await journalOf(skillbox, record.id)).map(({ type }) => type)).toContain('broker.died');
    expect(upstream.requests.map(({ url }) => url)).toEqual(['/first', '/second']);
  });

  test('two runs at once, each with a broker of its own', async () => {
    const skill = (name: string) =>
      newSkill(
        ['custom/hook', ...(name === 'a' ? ['custom/loose'] : [])],
        `for i in 1 2 3; do seksh http GET https://hooks.test/${name} -H "x-hook: $(seksh get custom/hook)" >/dev/null; done; seksh list`,
      );
    const [first, second] = await Promise.all([runSkill(skillbox, skill('a')), runSkill(skillbox, skill('b'))]);
    expect(await textOf(skillbox, first)).toBe('custom/hook\ncustom/loose\n');
    expect(await textOf(skillbox, second)).toBe('custom/hook\n');
    expect(upstream.requests).toHaveLength(6);
    for (const { headers } of upstream.requests) expect(headers['x-hook']).toBe(OTHER_KEY);
    // Both are gone; one that was told nothing may wait for the next run.
    await expect.poll(held, { timeout: 10_000 }).toBe(true);
    expect(brokersOf(process.pid)).toHaveLength(warm === 0 ? 0 : 1);
  });

  test.skipIf(warm === 0)('all but the first run of a kind came from the pool, and a broker waited for it', () => {
    const { keys, standby } = skillbox.warmth();
    expect(keys.filter(({ misses }) => misses > 1)).toEqual([]);
    expect(keys.reduce((sum, { hits }) => sum + hits, 0)).toBeGreaterThanOrEqual(5);
    // Of the two at once, one had to start its own.
    expect(standby.keys).toMatchObject([{ label: 'broker', misses: 2, died: 0 }]);
    expect(standby.keys[0]?.hits).toBeGreaterThanOrEqual(8);
  });
});

describe('the process', () => {
  test('ends with the one that started it, and leaves nothing when closed', async () => {
    const directory = join(tempDir('broker'), 'b');
    const brief = briefOf(newToken());
    const parent = spawn(process.execPath, [
      '--no-warnings',
      '--input-type=module',
      '-e',
      `const { startBroker } = await import(${JSON.stringify(join(import.meta.dirname, '../../src/broker/index.ts'))});
       const broker = await startBroker(${JSON.stringify(directory)}, ${JSON.stringify(brief)}, 3128, { pins: [], roots: [], certificates: null }, () => {});
       console.log(broker.pid);
       setInterval(() => {}, 1000);`,
    ]);
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    parent.kill('SIGKILL');
    await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 5000 }).toBe(false);
  });

  test('has no root, no environment, and no secret on its command line', async () => {
    const around = { pins: [], roots: [], certificates: null };
    const broker = await startBroker(
      join(tempDir('broker'), 'b'),
      briefOf(newToken()),
      BROKER_PORT,
      around,
      () => undefined,
    );
    const status = readFileSync(`/proc/${broker.pid}/status`, 'utf8');
    expect(/^Uid:\s+(\d+)/m.exec(status)?.[1]).toBe(process.getuid?.() === 0 ? '65534' : String(process.getuid?.()));
    if (process.getuid?.() === 0) {
      expect(/^CapEff:\s+(\w+)/m.exec(status)?.[1]).toBe('0000000000000000');
      expect(readFileSync(`/proc/${broker.pid}/environ`, 'utf8')).toBe('');
    }
    await broker.close();
    expect([existsSync(broker.socket), existsSync(`/proc/${broker.pid}`)]).toEqual([false, false]);
  });
});

/** Brokers that this process started. */
function brokersOf(parent: number): number[] {
  return childrenOf(parent).filter(pid => commandOf(pid).includes('broker/main.ts'));
}
