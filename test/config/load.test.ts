import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, symlinkSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { type Config, type Fault, loadConfig, renderPlace, type Surroundings } from '../../src/config/index.ts';
import { tempDirectory, writeFiles } from '../temp.ts';

const base = tempDirectory();
let home = '';
beforeEach(() => {
  home = mkdtempSync(join(base, 'home-'));
});

const load = (env: Record<string, string> = {}, more: Partial<Surroundings> = {}): Config =>
  loadConfig({ env: { HOME: home, ...env }, ...more });

/** Each fault as one line: where, and what. */
function faultsOf(body: () => unknown): string[] {
  try {
    body();
  } catch (error) {
    if (!(error instanceof SkillboxError)) throw error;
    expect(error.code).toBe('CONFIG_INVALID');
    return (error.details.faults as Fault[]).map(({ place, message }) => `${renderPlace(place)} ${message}`);
  }
  return [];
}

function writeConfig(text: string, mode = 0o600): string {
  const path = join(home, '.config/skillbox/config.yaml');
  writeFiles(home, { '.config/skillbox/config.yaml': text });
  chmodSync(path, mode);
  return path;
}

describe('where a value comes from', () => {
  test('flags before the environment before the file before what is usual', () => {
    expect([load().get('server.port'), load().origin('server.port')]).toEqual([8080, { from: 'default' }]);
    const file = writeConfig('server:\n  port: 1111\n');
    expect([load().get('server.port'), load().file]).toEqual([1111, file]);
    expect(load().origin('server.port')).toEqual({ from: 'file', file, line: 2, column: 9 });
    const env = { SKILLBOX_SERVER_PORT: '2222' };
    expect(load(env).get('server.port')).toBe(2222);
    expect(load(env).origin('server.port')).toEqual({ from: 'environment', variable: 'SKILLBOX_SERVER_PORT' });
    const flagged = load(env, { flags: { 'server.port': '3333' } });
    expect([flagged.get('server.port'), flagged.origin('server.port')]).toEqual([3333, { from: 'flag', flag: 'port' }]);
  });

  test('the file is that of SKILLBOX_CONFIG, else that of the config directory', () => {
    writeConfig('server: {port: 1}\n');
    const named = join(writeFiles(join(home, 'x'), { 'a.yaml': 'server: {port: 2}\n' }), 'a.yaml');
    const other = writeFiles(join(home, 'y'), { 'config.yaml': 'server: {port: 3}\n' });
    expect(load().get('server.port')).toBe(1);
    expect(load({ SKILLBOX_CONFIG_DIR: other }).get('server.port')).toBe(3);
    expect(load({ SKILLBOX_CONFIG_DIR: other, SKILLBOX_CONFIG: named }).get('server.port')).toBe(2);
    const gone = join(home, 'gone.yaml');
    expect(faultsOf(() => load({ SKILLBOX_CONFIG: gone }))).toEqual([
      `SKILLBOX_CONFIG names "${gone}", which is not there`,
    ]);
    expect(faultsOf(() => load({ SKILLBOX_CONFIG: 'a.yaml' }))).toHaveLength(1);
    expect(faultsOf(() => load({ SKILLBOX_CONFIG_DIR: 'here' }))).toHaveLength(1);
  });

  test('a server has usual values of its own', () => {
    const at = (role: 'command' | 'server') => {
      const config = load({}, { role });
      return [config.get('warm.count'), config.get('retention.runs')];
    };
    expect([at('command'), at('server')]).toEqual([
      [0, null],
      [4, 90 * 86_400_000],
    ]);
  });

  test('an empty variable is as good as none, but for the list of images', () => {
    expect(load({ SKILLBOX_WARM: '', SKILLBOX_DATA_DIR: '' }).origin('warm.count').from).toBe('default');
    expect([load().get('images.allowed'), load({ SKILLBOX_IMAGES: '' }).get('images.allowed')]).toEqual([null, []]);
    expect(load({ SKILLBOX_IMAGES: ' a:1 , b ' }).get('images.allowed')).toEqual(['a:1', 'b']);
  });

  test('the older variables go on working', () => {
    const config = load({
      SKILLBOX_DATA_DIR: '/d',
      SKILLBOX_SKILL_DIRS: '/a:/b',
      SKILLBOX_PINNED: 'x, y z',
      SKILLBOX_DOCKER_IMAGE: 'i',
      SKILLBOX_ALLOW_UNISOLATED: 'yes',
      SKILLBOX_RUNTIME_PATH: '/r:/s',
      SKILLBOX_WARM: '3',
      SKILLBOX_BROKER_PINS: 'API.test:443=[::1]:8443,b.test:80=10.0.0.1:81',
      DOCKER_HOST: 'unix:///run/user/1/docker.sock',
      SKILLBOX_SERVER_URL: 'https://skills.example',
    });
    expect(config.get('data.directory')).toBe('/d');
    expect(config.get('skills.directories')).toEqual(['/a', '/b']);
    expect(config.get('skills.pinned')).toEqual(['x', 'y', 'z']);
    expect(config.get('sandbox.docker.image')).toBe('i');
    expect(config.get('sandbox.allowUnisolated')).toBe(true);
    expect(config.get('sandbox.runtimes')).toEqual(['/r', '/s']);
    expect(config.get('warm.count')).toBe(3);
    expect(config.get('broker.pins')).toEqual([
      { host: 'api.test', port: 443, address: '::1', toPort: 8443 },
      { host: 'b.test', port: 80, address: '10.0.0.1', toPort: 81 },
    ]);
    expect(config.get('sandbox.docker.socket')).toBe('/run/user/1/docker.sock');
    expect(config.get('client.url')).toBe('https://skills.example');
    expect(load({ DOCKER_HOST: 'tcp://h:2375' }).get('sandbox.docker.socket')).toBe('/var/run/docker.sock');
    expect(load({ XDG_DATA_HOME: '/x' }).get('data.directory')).toBe('/x/skillbox');
    expect(load({ XDG_DATA_HOME: 'relative' }).get('data.directory')).toBe(join(home, '.local/share/skillbox'));
  });

  test('an empty or relative HOME counts as unset: the home is that of the account', () => {
    for (const HOME of ['', 'relative', './x']) {
      expect(load({ HOME }).get('data.directory')).toBe(join(userInfo().homedir, '.local/share/skillbox'));
      expect(load({ HOME, XDG_DATA_HOME: '/x' }).get('data.directory')).toBe('/x/skillbox');
    }
  });

  test('power is switched on by the words for it, and by nothing that looks like them', () => {
    for (const text of ['1', 'on', 'YES', 'y', 'enabled']) {
      expect(faultsOf(() => load({ SKILLBOX_ALLOW_UNISOLATED: text }))).toHaveLength(1);
    }
    writeConfig('sandbox: {allowUnisolated: true}\n');
    expect(load().get('sandbox.allowUnisolated')).toBe(true);
    expect(load({ SKILLBOX_ALLOW_UNISOLATED: 'no' }).get('sandbox.allowUnisolated')).toBe(false);
  });
});

describe('faults', () => {
  test('all of them are told at once, each with its place and what to do', () => {
    const file = writeConfig(
      'server:\n  prot: 1\n  hosts: [a.example, "b c"]\nrunns: {}\nwarm: 3\nretention: {runs: soon}\n',
    );
    const found = faultsOf(() => load({ SKILLBOX_SERVER_PORT: '70000' }, { flags: { 'server.host': '-x' } }));
    expect(found).toEqual([
      `${file}:2:3 is wrong: there is no setting "server.prot"`,
      `${file}:4:1 is wrong: there is no setting "runns"`,
      `${file}:5:7 is wrong: warm is not a mapping`,
      '--host is "-x"',
      'SKILLBOX_SERVER_PORT is "70000"',
      `${file}:3:10 is wrong: server.hosts holds "b c"`,
      `${file}:6:19 is wrong: retention.runs is "soon"`,
    ]);
    expect(() => load()).toThrow(/Did you mean server\.port\?/);
    expect(() => load({ SKILLBOX_SERVER_PORT: '70000' })).toThrow(/a number from 0 to 65535/);
  });

  test('a flag alone is mended where it was typed, not in the configuration', () => {
    writeConfig('');
    const typed = () => load({}, { flags: { 'client.url': 'localhost:8080' } });
    expect(typed).toThrow(
      expect.objectContaining({
        message: '--server is "localhost:8080"',
        hint: 'It must be a URL with http or https and without a password.',
      }),
    );
    expect(() => load({ SKILLBOX_SERVER_PORT: '70000' })).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('config check') }),
    );
  });

  test.each([
    ['a setting twice, nested and dotted', 'server.port: 1\nserver: {port: 1}\n', /both give server\.port/],
    ['a list', '- 1\n', /the file is not a mapping/],
    ['a key twice', 'server: {port: 1, port: 2}\n', /given twice/],
    ['an alias', 'a: &x 1\nb: *x\n', /alias|anchor/],
    ['two documents', 'server: {}\n---\nserver: {}\n', /is wrong/],
    ['no YAML', 'server: [\n', /is wrong/],
    ['a key without a value', 'server: {port: }\n', /server\.port is not a value/],
    ['a mapping where a value is wanted', 'server: {port: {a: 1}}\n', /server\.port is not a value/],
    ['a list where a value is wanted', 'server: {port: [1]}\n', /server\.port is not a value/],
    ['a list in a list', 'server: {hosts: [[a]]}\n', /server\.hosts is not a list of values/],
    ['a forbidden key', 'server: {__proto__: 1}\n', /__proto__/],
    ['an inherited name', 'toString: 1\n', /no setting "toString"/],
  ])('%s in the file', (_name, text, message) => {
    writeConfig(text);
    expect(() => load()).toThrow(message);
    expect(() => load()).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', exit: 2 }));
  });

  test('a name may be written with its dots', () => {
    writeConfig('server.port: 1\nstore: {s3.region: eu}\n');
    expect([load().get('server.port'), load().get('store.s3.region')]).toEqual([1, 'eu']);
  });

  test('an empty file says nothing', () => {
    for (const text of ['', '# nothing\n', 'server: {}\n']) {
      writeConfig(text);
      expect(load().get('server.port')).toBe(8080);
    }
  });

  test('what a terminal would obey is not repeated', () => {
    expect(() => load({ SKILLBOX_WARM: '\u001b[2J' })).toThrow(/<U\+001B>/);
  });

  test('settings that do not fit together', () => {
    expect(faultsOf(() => load({ SKILLBOX_OIDC_ISSUER: 'https://id.example' }))).toEqual([
      'SKILLBOX_OIDC_ISSUER is given without oidc.audience',
    ]);
    const oidc = { SKILLBOX_OIDC_ISSUER: 'http://id.example', SKILLBOX_OIDC_AUDIENCE: 'skillbox' };
    expect(faultsOf(() => load(oidc))).toEqual(['SKILLBOX_OIDC_ISSUER is not https']);
    expect(faultsOf(() => load({ ...oidc, SKILLBOX_OIDC_ISSUER: 'http://127.0.0.1:9' }))).toEqual([]);
    expect(faultsOf(() => load({ SKILLBOX_STORE_S3_ACCESS_KEY_ID: 'a' }))).toHaveLength(1);
    expect(faultsOf(() => load({ SKILLBOX_STORE_S3_SECRET_ACCESS_KEY: 'a' }))).toHaveLength(1);
    expect(faultsOf(() => load({ SKILLBOX_STORE_S3_ENDPOINT: 'https://s3.example' }))).toHaveLength(1);
    expect(faultsOf(() => load({ SKILLBOX_SECRETS_KEYRING: 'yes' }))).toEqual([]);
    expect(faultsOf(() => load({ SKILLBOX_SECRETS_KEYRING: 'yes', SKILLBOX_MASTER_KEY: 'a'.repeat(64) }))).toEqual([
      'SKILLBOX_SECRETS_KEYRING is given with secrets.masterKey',
    ]);
    expect(faultsOf(() => load({ SKILLBOX_RUNS_DEAD_AFTER: '6s' }))).toEqual(['SKILLBOX_RUNS_DEAD_AFTER is too short']);
    expect(faultsOf(() => load({ SKILLBOX_RUNS_HEARTBEAT: '20s' }))).toEqual(['SKILLBOX_RUNS_DEAD_AFTER is too short']);
  });

  test('a server on PostgreSQL has a master key that others can have too', () => {
    const server = (env: Record<string, string>) => faultsOf(() => load(env, { role: 'server' }));
    const database = { SKILLBOX_STORE_POSTGRES_URL: 'postgres://a:b@c/d' };
    expect(server(database)).toEqual(['SKILLBOX_STORE_POSTGRES_URL is given without secrets.masterKey']);
    expect(server({ ...database, SKILLBOX_SECRETS_KEYRING: 'yes' })).toHaveLength(1);
    expect(server({ ...database, SKILLBOX_MASTER_KEY: 'a'.repeat(64) })).toEqual([]);
  });

  test('a server listens wider than loopback only when that was said too', () => {
    const server = (env: Record<string, string>) => faultsOf(() => load(env, { role: 'server' }));
    for (const host of ['0.0.0.0', '::', '10.0.0.1', 'box.example', '128.0.0.1', '127.0.0.1.example']) {
      expect(server({ SKILLBOX_SERVER_HOST: host })).toEqual([
        'SKILLBOX_SERVER_HOST is an address that others can reach',
      ]);
      expect(server({ SKILLBOX_SERVER_HOST: host, SKILLBOX_SERVER_PUBLIC: 'yes' })).toEqual([]);
    }
    for (const host of ['127.0.0.1', '127.8.0.1', '::1', 'localhost'])
      expect(server({ SKILLBOX_SERVER_HOST: host })).toEqual([]);
  });
});

describe('whose file it is', () => {
  test('one that others can write is not read', () => {
    const path = writeConfig('server: {port: 1}\n', 0o646);
    expect(faultsOf(() => load())).toEqual([`${path}:1:1 cannot be used: everybody can write to it`]);
  });

  test.runIf(process.getuid?.() === 0)('one that belongs to another account is not read', () => {
    const path = writeConfig('server: {port: 1}\n');
    // As another account sees root's and its own; here the stranger is uid 65534.
    chownSync(path, 65_534, 65_534);
    expect(faultsOf(() => load())).toEqual([`${path}:1:1 cannot be used: it belongs to another account (uid 65534)`]);
  });

  test('a link to nothing, a directory and too much are faults, not "no file"', () => {
    const directory = join(home, '.config/skillbox');
    mkdirSync(join(directory, 'config.yaml'), { recursive: true });
    expect(faultsOf(() => load())).toHaveLength(1);
    const linked = join(home, 'l');
    mkdirSync(linked);
    symlinkSync('/nonexistent/x', join(linked, 'config.yaml'));
    expect(faultsOf(() => load({ SKILLBOX_CONFIG_DIR: linked }))).toHaveLength(1);
    writeFiles(join(home, 'm'), { 'config.yaml': `# ${'x'.repeat(300_000)}\n` });
    expect(faultsOf(() => load({ SKILLBOX_CONFIG_DIR: join(home, 'm') }))).toHaveLength(1);
  });
});

describe('the start of the program', () => {
  test('without a file no YAML library is loaded, with one it is', () => {
    const script = `
      import { createRequire } from 'node:module';
      import { loadConfig } from ${JSON.stringify(join(import.meta.dirname, '../../src/config/index.ts'))};
      loadConfig({ env: process.env });
      const { cache } = createRequire(import.meta.url);
      console.log(Object.keys(cache).some(path => path.includes('/node_modules/yaml/')));`;
    const loaded = () =>
      execFileSync(process.execPath, ['--input-type=module', '-e', script], { env: { HOME: home }, encoding: 'utf8' });
    expect(loaded()).toBe('false\n');
    writeConfig('server: {port: 1}\n');
    expect(loaded()).toBe('true\n');
  });
});
