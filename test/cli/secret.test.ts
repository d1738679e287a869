import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run } from '../fake-io.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

const VALUE = 'sk-ant-a-very-secret-value';

function newBox(more: Record<string, string> = {}) {
  const cwd = tempDir('secret');
  const env = { SKILLBOX_DATA_DIR: join(cwd, 'data'), SKILLBOX_CONFIG_DIR: join(cwd, 'config'), ...more };
  return {
    cwd,
    box: (words: string[], options: { stdin?: string | Buffer; answers?: string[] } = {}) =>
      run(words, { cwd, env, ...options }),
  };
}

describe('skillbox secret', () => {
  test('a file without an end is refused, and not read into memory', async () => {
    const { box } = newBox();
    const { code, err } = await box(['secret', 'set', 'anthropic', '--from-file', '/dev/zero']);
    expect([code, err]).toEqual([2, expect.stringContaining('the value is too long')]);
  });

  test('set from standard input, a file and a prompt; listed without values; rotated, re-keyed, removed', async () => {
    const { cwd, box } = newBox();
    const set = await box(['secret', 'set', 'anthropic'], { stdin: `${VALUE}\n` });
    expect(set).toMatchObject({ code: 0, err: '' });
    expect(set.out).toContain('anthropic is stored, version 1');
    writeFileSync(join(cwd, 'token.txt'), 'the-token-value\r\n');
    const bound = await box([
      'secret',
      'set',
      'custom/deploy',
      '--host',
      'deploy.example.com',
      '--from-file',
      'token.txt',
    ]);
    expect(bound.out).toContain('into requests to deploy.example.com; no skill gets it');
    const typed = await box(['secret', 'set', 'custom/signature'], { answers: ['typed-by-a-person'] });
    expect(typed.err).toBe('Value (not shown): ');
    expect((await box(['secret', 'rotate', 'anthropic', '--json'], { stdin: `${VALUE}-2` })).out).toContain(
      '"version": 2',
    );
    const listed = await box(['secret', 'list', '--json']);
    expect(JSON.parse(listed.out)).toMatchObject({
      secrets: [
        { name: 'anthropic', class: 'provider', version: 2, last_used: null },
        { name: 'custom/deploy', class: 'custom', hosts: ['deploy.example.com'] },
        { name: 'custom/signature', class: 'custom', hosts: [] },
      ],
    });
    expect((await box(['secret', 'list'])).out).toMatch(/custom\/signature +custom +to skills +created/);
    expect((await box(['secret', 'rekey'])).out).toBe('3 secrets are under a new master key\n');
    expect((await box(['provider', 'test', 'anthropic'])).out).toBe('✔ its data\n✔ its key\n');
    expect((await box(['secret', 'remove', 'custom/deploy'])).out).toBe('removed custom/deploy\n');
    expect((await box(['secret', 'remove', 'custom/deploy'])).code).toBe(5);
    const everything = [set, bound, typed, listed].map(ran => JSON.stringify(ran)).join();
    expect(everything).not.toMatch(/very-secret|the-token-value|typed-by/);
    expect((await box(['audit', 'verify'])).code).toBe(0);
    expect((await box(['audit', 'list', '--json'])).out).not.toMatch(/very-secret|the-token-value|typed-by/);
  });

  test.each([
    [['secret', 'set', 'anthropic', VALUE]],
    [['secret', 'set', 'anthropic', VALUE, '--json']],
    [['secret', 'set', `anthropic=${VALUE}`]],
    [['secret', 'set', VALUE]],
    [['secret', 'set', 'anthropic', `--value=${VALUE}`]],
    [['secret', 'set', 'anthropic', '--value', VALUE]],
    [['secret', 'rotate', 'anthropic', VALUE]],
    [['secret', 'rotate', VALUE]],
    [['secret', 'remove', 'anthropic', VALUE]],
  ])('a value on the command line is refused and not repeated: %j', async words => {
    const { cwd, box } = newBox();
    const ran = await box(words, { stdin: 'another value' });
    expect(ran.code).toBeGreaterThan(0);
    expect(`${ran.out}${ran.err}`).not.toContain('very-secret');
    expect((await box(['secret', 'list', '--json'])).out).toContain('"secrets": []');
    for (const file of readdirSync(join(cwd, 'data'), { recursive: true, encoding: 'utf8' })) {
      const path = join(cwd, 'data', file);
      if (statSync(path).isFile()) expect(readFileSync(path).includes('very-secret'), file).toBe(false);
    }
  });

  test('a second name for remove is no value, and nothing is removed', async () => {
    const { box } = newBox();
    await box(['secret', 'set', 'anthropic'], { stdin: VALUE });
    const ran = await box(['secret', 'remove', 'anthropic', 'openai']);
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining('one secret is removed at a time') });
    expect(ran.err).not.toContain('a value');
    expect((await box(['secret', 'list', '--json'])).out).toContain('anthropic');
  });

  test('what does not fit is said before anything is asked for', async () => {
    const { box } = newBox();
    const wrong = await box(['secret', 'set', 'antropic'], { answers: ['never asked'] });
    expect(wrong.err).toContain('Did you mean anthropic?');
    expect(wrong.err).not.toContain('Value');
    expect((await box(['secret', 'set', 'custom/x', '--class', 'provider'], { stdin: VALUE })).err).toContain(
      'a custom secret, not a provider one',
    );
    expect((await box(['secret', 'set', 'custom/x', '--host', 'a.example', '--unbound'], { stdin: VALUE })).code).toBe(
      2,
    );
    expect((await box(['secret', 'set', 'anthropic', '--host', 'a.example'], { stdin: VALUE })).code).toBe(2);
    expect((await box(['secret', 'set', 'anthropic'], { stdin: '\n' })).err).toContain('there is no value');
    expect((await box(['secret', 'set', 'anthropic'], { stdin: Buffer.alloc(70_000, 'x') })).err).toContain('too long');
    expect((await box(['secret', 'set', 'custom/pem'], { answers: ['line one\nline two'] })).err).toContain(
      'more than one line was pasted',
    );
    expect((await box(['secret', 'rotate', 'anthropic'], { stdin: VALUE })).code).toBe(5);
  });

  test('a short value is stored with a warning: no run will get it', async () => {
    const { box } = newBox();
    const short = await box(['secret', 'set', 'custom/pin'], { stdin: '1234' });
    expect(short.code).toBe(0);
    expect(short.err).toContain('runs that need it will not start');
    expect(short.out).toContain('too short for any run');
  });

  test('what was wrong is said, and what to do', async () => {
    const { box } = newBox();
    const bound = (host: string) => box(['secret', 'set', 'custom/a', '--host', host], { stdin: VALUE });
    expect((await bound('https://a.example/path')).err).toContain('it has a path');
    expect((await bound('ftp://a.example')).err).toContain('another scheme');
    expect((await bound('')).err).toContain('--host is empty');
    const lines = await box(['secret', 'set', 'anthropic'], { stdin: 'one\ntwo' });
    expect(lines.err).toContain('a line break');
    expect(lines.err).toContain('one line of text. Nothing was stored.');
    for (const word of ['get', 'show']) {
      const asked = await box(['secret', word, 'anthropic']);
      expect(asked).toMatchObject({ code: 2, err: expect.stringContaining('never shown again') });
      expect(asked.err).not.toContain('did you mean');
    }
    expect((await box(['provider', 'show', 'antropic'])).err).toContain('Did you mean anthropic?');
    expect((await box(['provider', 'test', 'antropic'])).err).toContain('Did you mean anthropic?');
  });

  test('a re-keying of nothing makes no key', async () => {
    const { box, cwd } = newBox();
    expect((await box(['secret', 'rekey'])).err).toContain('there are no secrets');
    expect(existsSync(join(cwd, 'data/master.key'))).toBe(false);
  });

  test("SK-10 the seed's key is bound to its host unless one says otherwise", async () => {
    const { box } = newBox();
    const name = 'custom/openweathermap-api-key';
    expect((await box(['secret', 'set', name], { stdin: VALUE })).out).toContain(
      'api.openweathermap.org; no skill gets it',
    );
    expect((await box(['secret', 'set', name, '--unbound'], { stdin: VALUE })).out).toContain('get the value');
  });

  test('the master key: from the environment, from a file, never both, never readable by others', async () => {
    const hex = '0'.repeat(62);
    const { box, cwd } = newBox({ SKILLBOX_MASTER_KEY: `${hex}ff` });
    expect((await box(['secret', 'set', 'anthropic'], { stdin: VALUE })).code).toBe(0);
    const path = join(cwd, 'key');
    writeFileSync(path, `${hex}ff\n`, { mode: 0o600 });
    const data = { SKILLBOX_DATA_DIR: join(cwd, 'data') };
    const test_ = (env: Record<string, string>) =>
      run(['provider', 'test', 'anthropic'], { cwd, env: { ...data, ...env } });
    expect((await test_({ SKILLBOX_MASTER_KEY_FILE: path })).code).toBe(0);
    chmodSync(path, 0o644);
    expect((await test_({ SKILLBOX_MASTER_KEY_FILE: path })).err).toContain('can be read or written by others');
    expect((await test_({ SKILLBOX_MASTER_KEY_FILE: path, SKILLBOX_MASTER_KEY: `${hex}ff` })).code).toBe(2);
    const wrong = await test_({ SKILLBOX_MASTER_KEY: `${hex}fe` });
    expect(wrong.err).toContain('under another master key');
    expect(wrong.err).not.toContain(hex);
    expect((await run(['secret', 'rekey'], { cwd, env: { ...data, SKILLBOX_MASTER_KEY: `${hex}ff` } })).err).toContain(
      '--key-file',
    );
  });

  test.each(['gone', 'half written'])('a master key that is %s: the way that is told leads out', async how => {
    const { box, cwd } = newBox();
    const data = join(cwd, 'data');
    await box(['secret', 'set', 'custom/a'], { stdin: `${VALUE}\n` });
    await box(['secret', 'set', 'custom/b'], { stdin: `${VALUE}\n` });
    const key = join(data, 'master.key');
    rmSync(key);
    if (how === 'half written') writeFileSync(key, '0123', { mode: 0o600 });
    const refused = await box(['secret', 'set', 'custom/c'], { stdin: `${VALUE}\n` });
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('remove all of them') });
    expect((await box(['secret', 'remove', 'custom/a'])).code).toBe(0);
    // While there is one, a new key in place of the lost one would only hide that it is lost.
    expect((await box(['secret', 'set', 'custom/c'], { stdin: `${VALUE}\n` })).code).toBe(1);
    expect((await box(['secret', 'remove', 'custom/b'])).code).toBe(0);
    if (how === 'half written') rmSync(key);
    expect((await box(['secret', 'set', 'custom/a'], { stdin: `${VALUE}\n` })).code).toBe(0);
    expect(readFileSync(key, 'utf8')).toMatch(/^[0-9a-f]{64}\n$/);
  });
});

const ACME = `version: 1
name: acme
url: http://127.0.0.1:9
private: true
auth: { form: bearer }
endpoints:
  orders.read: { requests: GET /orders }
  orders.create: { requests: POST /orders, what: place orders }
`;

describe('a custom secret that is bound to a private host', () => {
  const store = (box: ReturnType<typeof newBox>['box'], ...hosts: string[]) =>
    box(['secret', 'set', 'custom/inside', ...hosts.flatMap(host => ['--host', host])], { stdin: VALUE });

  test.each(['10.0.0.5', 'http://192.168.1.1:8080', '[::1]:8443', 'localhost', 'db.internal', 'x.local'])(
    '%s: it is stored, and it is said that nothing is sent there',
    async host => {
      const ran = await store(newBox().box, 'api.example.com', host);
      expect(ran).toMatchObject({ code: 0, out: expect.stringContaining('is stored') });
      expect(ran.err).toMatch(/^note: the broker sends nothing into private networks, .*\(broker\.pins\)\n$/);
      expect(ran.err).toContain(`not to ${host}, unless`);
    },
  );

  test.each(['169.254.169.254', 'http://169.254.169.254', '[fe80::1]:8443'])(
    '%s: it is said that nothing opens that',
    async host => {
      const ran = await store(newBox().box, 'api.example.com', host);
      expect(ran).toMatchObject({ code: 0, out: expect.stringContaining('is stored') });
      expect(ran.err).toMatch(/^note: the broker sends nothing to link-local .*; no setting opens them\n$/);
      expect(ran.err).toContain(`not to ${host};`);
      expect(ran.err).not.toContain('broker.pins');
    },
  );

  test('nothing is said of a public one, of one that is pinned, nor of one where an own provider may be private', async () => {
    const { cwd, box } = newBox({ SKILLBOX_BROKER_PINS: 'db.internal:443=10.0.0.9:443' });
    expect((await store(box, '1.1.1.1', 'localhost.example.com', 'db.internal')).err).toBe('');
    expect((await store(box, 'db.internal:8443')).err).toContain('db.internal:8443');
    expect((await store(box, 'http://127.0.0.1:9')).err).toContain('127.0.0.1:9');
    writeFileSync(join(cwd, 'acme.yaml'), ACME);
    expect((await box(['provider', 'add', 'acme.yaml'])).code).toBe(0);
    expect((await store(box, 'http://127.0.0.1:9')).err).toBe('');
  });

  test('the key of a provider that may be private is no such thing', async () => {
    const { cwd, box } = newBox();
    writeFileSync(join(cwd, 'acme.yaml'), ACME);
    await box(['provider', 'add', 'acme.yaml']);
    expect((await box(['secret', 'set', 'acme'], { stdin: VALUE })).err).toBe('');
  });
});

describe('skillbox provider', () => {
  test('list, show, add, test, remove', async () => {
    const { cwd, box } = newBox();
    const listed = JSON.parse((await box(['provider', 'list', '--json'])).out) as {
      providers: { name: string; key: string }[];
    };
    expect(listed.providers).toHaveLength(12);
    expect(listed.providers.every(({ key }) => key === 'missing')).toBe(true);
    expect((await box(['provider', 'list'])).out).toContain('https://api.anthropic.com  messages.create');
    expect((await box(['provider', 'show', 'discord'])).out).toContain(
      'discord/messages.send: send messages into channels; others can read it',
    );
    writeFileSync(join(cwd, 'acme.yaml'), ACME);
    expect((await box(['provider', 'add', 'acme.yaml'])).out).toContain(
      'acme/orders.create: place orders; others can read it',
    );
    const missing = await box(['provider', 'test', 'acme']);
    expect(missing).toMatchObject({
      code: 1,
      out: '✔ its data\n✖ its key: it is not set; run: skillbox secret set acme\n',
    });
    expect((await box(['secret', 'set', 'acme'], { stdin: VALUE })).code).toBe(0);
    expect((await box(['provider', 'test', 'acme'])).code).toBe(0);
    const again = await box(['provider', 'add', 'acme.yaml']);
    expect([again.out.split('\n')[0], again.err]).toEqual(['✔ replaced acme', '']);
    writeFileSync(join(cwd, 'moved.yaml'), ACME.replace(/url: .*/, 'url: https://moved.example:8443'));
    const moved = await box(['provider', 'add', 'moved.yaml']);
    expect(moved.err).toContain('its key goes to https://moved.example:8443 now, no longer to ');
    expect((await box(['provider', 'add', 'acme.yaml'])).code).toBe(0);
    // What is kept was damaged: it is not the operator's file, so the hint is not how to edit it.
    const kept = join(cwd, 'data/providers/acme.provider');
    writeFileSync(kept, 'version: 1\nname: acme\n');
    const broken = await box(['provider', 'list']);
    expect([broken.code, broken.err]).toEqual([2, expect.stringContaining('skillbox provider remove acme')]);
    expect((await box(['provider', 'remove', 'acme'])).code).toBe(0);
    expect((await box(['provider', 'add', 'acme.yaml'])).code).toBe(0);
    // Nobody listens there: the discard port of this machine.
    const online = await box(['provider', 'test', 'acme', '--online', '--json']);
    expect(online.code).toBe(1);
    expect(JSON.parse(online.out)).toMatchObject({
      ok: false,
      checked: [{}, {}, { what: 'its host', fault: expect.stringContaining('cannot be reached') }],
    });
    expect(await box(['provider', 'remove', 'acme'])).toMatchObject({
      out: 'removed acme\n',
      err: 'Its key is kept; remove it with: skillbox secret remove acme\n',
    });
    expect((await box(['provider', 'show', 'acme'])).code).toBe(5);
  });

  test('a fault is told with file, line and column', async () => {
    const { cwd, box } = newBox();
    writeFileSync(join(cwd, 'acme.yaml'), ACME.replace('private: true\n', ''));
    const ran = await box(['provider', 'add', 'acme.yaml']);
    expect(ran.code).toBe(2);
    expect(ran.err).toContain(`${join(cwd, 'acme.yaml')}:3:6: a key must not travel in the clear`);
  });

  test('all faults of a file are told at once, in the order of its lines', async () => {
    const { cwd, box } = newBox();
    const lines = [
      'version: 2',
      'name: Acme',
      'url: https://127.0.0.1:9',
      'auth: { form: header }',
      'endpoints:',
      '  orders.read: { requests: [], limits: { requests: 0 } }',
      '  orders.create: { requests: POST orders, what: "", carries-out: perhaps }',
      'customs: { hook: ["*.acme.example", "a/b"] }',
    ];
    writeFileSync(join(cwd, 'acme.yaml'), `${lines.join('\n')}\n`);
    const ran = await box(['provider', 'add', 'acme.yaml']);
    expect(ran).toMatchObject({ code: 2, out: '' });
    const places = [...ran.err.matchAll(/^error: (.*?):(\d+):\d+: .+\n {2}\S/gm)];
    expect(new Set(places.map(([, file]) => file))).toEqual(new Set([join(cwd, 'acme.yaml')]));
    expect(places.map(([, , line]) => Number(line))).toEqual([1, 2, 3, 4, 6, 6, 7, 7, 7, 8, 8]);
    const { error, message, details } = JSON.parse((await box(['provider', 'add', 'acme.yaml', '--json'])).out);
    expect([error, message]).toEqual(['PROVIDER_INVALID', expect.stringContaining(':1:10: the version is not 1')]);
    expect(details.diagnostics).toHaveLength(11);
  });

  test('SK-04 lint knows the capabilities of the machine, and says what nobody has', async () => {
    const { cwd, box } = newBox();
    writeFiles(join(cwd, 'orders'), {
      'skill.yaml':
        'version: 1\nname: orders\ndescription: Reads orders.\ncapabilities:\n  - acme/orders.read\n  - anthropic/mesages.create\n  - custom/acme-token\n',
      'SKILL.md': '# Orders\n\nRead them.\n',
      'index.js': '',
    });
    const codes = async () => {
      const { out } = await box(['skill', 'lint', '--json', 'orders']);
      const { skills } = JSON.parse(out) as {
        skills: { diagnostics: { code: string; line: number; severity: string }[] }[];
      };
      return skills[0]?.diagnostics.map(({ code, line, severity }) => [code, severity, line]);
    };
    expect(await codes()).toEqual([
      ['capability-unknown', 'warning', 5],
      ['capability-unknown', 'warning', 6],
      ['capability-released', 'info', 7],
    ]);
    writeFileSync(join(cwd, 'acme.yaml'), ACME);
    await box(['provider', 'add', 'acme.yaml']);
    expect(await codes()).toEqual([
      ['capability-unknown', 'warning', 6],
      ['capability-released', 'info', 7],
    ]);
  });
});
