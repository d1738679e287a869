import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import { FETCH_LIMITS, obtain, parseSource, type Release, type SkillSource } from '../../src/install/index.ts';
import { WELL_KNOWN_PATH, wellKnownIndex } from '../../src/registry/index.ts';
import { run } from '../fake-io.ts';
import { plainZip, publish, ground as registryGround, skillZip } from '../registry/make.ts';
import { skillPath } from '../support/git.ts';
import { bytesOf } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

function ground() {
  const at = tempDir('add-registry');
  const project = join(at, 'project');
  mkdirSync(join(project, '.git'), { recursive: true });
  mkdirSync(join(at, 'home'));
  const env = { HOME: join(at, 'home'), SKILLBOX_DATA_DIR: join(at, 'data') };
  const cli = async (words: string[], more: Record<string, string> = {}) => {
    const { code, out, err } = await run([...words, '--json'], { cwd: project, env: { ...env, ...more } });
    return { code, err, json: out === '' ? null : JSON.parse(out) };
  };
  const push = async (version: string | null, body = 'Count.', given?: string) => {
    const folder = writeFiles(join(at, 'work', `${version}`, 'tally'), {
      'SKILL.md': `---\nname: tally\ndescription: Counts. Use when asked.\n${version === null ? '' : `metadata:\n  version: "${version}"\n`}---\n\n${body}\n`,
    });
    const words = ['skill', 'push', folder, ...(given === undefined ? [] : ['--version', given])];
    expect((await cli(words)).code).toBe(0);
  };
  const lock = () => JSON.parse(readFileSync(join(project, 'skills.lock'), 'utf8')).skills.tally;
  const text = () => readFileSync(join(skillPath(project, 'tally'), 'SKILL.md'), 'utf8');
  return { at, project, cli, push, lock, text };
}

describe('add NAME@RANGE', () => {
  test('installs what the range means, and locks version and digest', async () => {
    const { cli, push, lock, text } = ground();
    for (const version of ['1.0.0', '1.1.0', '2.0.0']) await push(version, `Of ${version}.`);
    const { code, json } = await cli(['add', 'tally@^1', '--yes']);
    expect([code, json.skills[0].version]).toEqual([0, '1.1.0']);
    expect(text()).toContain('Of 1.1.0.');
    expect(lock()).toMatchObject({
      version: '1.1.0',
      source: { kind: 'registry', server: null, wanted: '^1', version: '1.1.0' },
      digest: json.skills[0].digest,
    });
    expect((await cli(['verify'])).code).toBe(0);
    expect((await cli(['outdated'])).code).toBe(0);
    // What is asked for may change; where it comes from may not.
    expect((await cli(['add', 'tally@>=2 <3', '--yes'])).code).toBe(0);
    expect(lock()).toMatchObject({ version: '2.0.0', source: { wanted: '>=2 <3' } });
  });

  test('outdated and update follow the range; install restores what the lock says, also what was withdrawn', async () => {
    const { cli, push, lock, text, project } = ground();
    await push('1.0.0', 'First.');
    await cli(['add', 'tally@^1', '--yes']);
    const locked = readFileSync(join(project, 'skills.lock'));
    await push('2.0.0', 'Third.');
    expect((await cli(['outdated'])).code).toBe(0);
    await push('1.1.0', 'Second.');
    const outdated = await cli(['outdated']);
    expect([outdated.code, outdated.json.outdated[0].latest.version]).toEqual([1, '1.1.0']);
    expect((await cli(['update', '--yes'])).code).toBe(0);
    expect([text().includes('Second.'), lock().version]).toEqual([true, '1.1.0']);

    await cli(['skill', 'yank', 'tally', '1.0.0']);
    rmSync(skillPath(project, 'tally'), { recursive: true });
    writeFileSync(join(project, 'skills.lock'), locked);
    expect((await cli(['install', '--frozen'])).code).toBe(0);
    expect([text().includes('First.'), lock().version]).toEqual([true, '1.0.0']);

    for (const version of ['1.1.0', '2.0.0']) await cli(['skill', 'yank', 'tally', version]);
    const gone = await cli(['outdated']);
    expect([gone.code, gone.err]).toEqual([0, expect.stringContaining('no longer in its source')]);
  });

  test('a version that the skill itself does not carry is in the lock all the same', async () => {
    const { cli, push, lock } = ground();
    await push(null, 'None.', '3.2.1');
    expect((await cli(['add', 'tally@latest', '--yes'])).code).toBe(0);
    expect(lock()).toMatchObject({ version: '3.2.1', source: { wanted: 'latest', version: '3.2.1' } });
  });

  test('what is not there, and a registry whose bytes were changed', async () => {
    const { at, cli, push, project } = ground();
    expect((await cli(['add', 'tally@^1', '--yes'])).json).toMatchObject({ error: 'NOT_FOUND' });
    await push('1.0.0');
    expect((await cli(['add', 'tally@^2', '--yes'])).json).toMatchObject({ error: 'NOT_FOUND' });
    const blobs = join(at, 'data/blobs');
    const [folder = ''] = readdirSync(blobs);
    const [name = ''] = readdirSync(join(blobs, folder));
    const zip = readFileSync(join(blobs, folder, name));
    writeFileSync(join(blobs, folder, name), Buffer.concat([zip.subarray(0, -1), Buffer.from('x')]));
    expect((await cli(['add', 'tally@^1', '--yes'])).json).toMatchObject({ error: 'BLOB_DAMAGED' });
    expect(existsSync(join(project, 'skills.lock'))).toBe(false);
  });

  test('a lock does not choose which server is asked', async () => {
    const { cli, push, project } = ground();
    await push('1.0.0');
    await cli(['add', 'tally@^1', '--yes']);
    const path = join(project, 'skills.lock');
    const lock = JSON.parse(readFileSync(path, 'utf8'));
    lock.skills.tally.source.server = 'https://evil.example/';
    writeFileSync(path, JSON.stringify(lock));
    rmSync(skillPath(project, 'tally'), { recursive: true });
    for (const words of [['install'], ['outdated'], ['update', '--yes']])
      expect((await cli(words)).json, words[0]).toMatchObject({ error: 'SOURCE_REFUSED' });
    for (const source of [
      { server: 'http://evil.example/' },
      { server: 7 },
      { version: '../x' },
      { version: 'latest' },
      { wanted: 5 },
      { wanted: 'x'.repeat(1000) },
    ]) {
      Object.assign(lock.skills.tally.source, { server: null, version: '1.0.0', wanted: '^1' }, source);
      writeFileSync(path, JSON.stringify(lock));
      expect((await cli(['install'])).json).toMatchObject({ error: 'LOCK_INVALID' });
    }
  });
});

describe('a registry that lies', () => {
  const zip = plainZip('tally', '1.0.0');
  const honest = async (): Promise<Release> => {
    const { skill } = await publish(registryGround().as(null), zip);
    return skill;
  };
  const tried = async (changes: Partial<SkillSource>, release: Partial<Release> = {}) => {
    let closed = 0;
    const told = { ...(await honest()), ...release };
    const temporary = tempDir('tmp');
    vi.stubEnv('TMPDIR', temporary);
    const source: SkillSource = {
      server: 'https://registry.example/',
      resolve: async () => told,
      download: async () => bytesOf(zip),
      close: async () => void closed++,
      ...changes,
    };
    const limits = { ...FETCH_LIMITS, maxBytes: 1024 ** 2, registry: async () => source };
    const error = await obtain(parseSource('tally@^1', '/nowhere'), null, limits).then(
      async obtained => {
        const failed = await obtained.offers[0]?.load().then(
          () => null,
          (cause: unknown) => cause,
        );
        await obtained.close();
        return failed;
      },
      (cause: unknown) => cause,
    );
    expect(closed).toBe(1);
    vi.unstubAllEnvs();
    expect(readdirSync(temporary)).toEqual([]);
    return error instanceof SkillboxError ? error.code : error;
  };

  test('is found out, and nothing of it stays', async () => {
    expect(await tried({})).toBeNull();
    expect(await tried({ download: async () => bytesOf(skillZip()) })).toBe('SOURCE_REFUSED');
    expect(await tried({}, { digest: `sb1-sha256:${'0'.repeat(64)}` })).toBe('SOURCE_REFUSED');
    expect(await tried({ server: 'http://registry.example/' })).toBe('SOURCE_REFUSED');
    const endless = async function* () {
      for (;;) yield Buffer.alloc(100_000);
    };
    expect(await tried({ download: async () => endless() })).toBe('SOURCE_FAILED');
  });

  test('and one that gives another skill than was asked for', async () => {
    const { skill } = await publish(registryGround().as(null), plainZip('other', '1.0.0'));
    const release = { ...skill, name: 'tally' };
    const download = async () => bytesOf(plainZip('other', '1.0.0'));
    expect(await tried({ download }, release)).toBe('SOURCE_REFUSED');
  });

  test('without a registry a name is refused', async () => {
    await expect(obtain(parseSource('tally@^1', '/nowhere'))).rejects.toMatchObject({ code: 'SOURCE_UNSUPPORTED' });
  });
});

describe('the index for installers', () => {
  const { as } = registryGround();
  const seen: (string | undefined)[] = [];
  let server: Server;
  let site: string;

  beforeAll(async () => {
    await publish(as('a'), plainZip('tally', '1.0.0'));
    await publish(as('a'), plainZip('tally', '1.1.0'));
    await publish(as('a'), plainZip('withdrawn', '1.0.0'));
    await as('a').yank('withdrawn', '1.0.0', '');
    await publish(as('b'), plainZip('secret', '1.0.0'));
    const answerTo = async (request: IncomingMessage, answer: ServerResponse): Promise<unknown> => {
      seen.push(request.headers.authorization);
      const skills = as(request.headers.authorization === 'Bearer key-b' ? 'b' : 'a');
      const { pathname } = new URL(request.url ?? '', 'http://x');
      const [, , , name = '', version = ''] = pathname.split('/');
      if (pathname === '/elsewhere/.well-known/agent-skills/index.json') {
        return answer.writeHead(302, { location: `http://localhost:${port()}${WELL_KNOWN_PATH}` }).end();
      }
      if (pathname === WELL_KNOWN_PATH) {
        const index = await wellKnownIndex(skills, one => `/v1/skills/${one.name}/${one.version}/archive`);
        return answer.end(JSON.stringify(index));
      }
      const { content } = await skills.download(name, version);
      for await (const chunk of content) answer.write(chunk);
      return answer.end();
    };
    server = createServer((request, answer) => void answerTo(request, answer));
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    site = `http://127.0.0.1:${port()}`;
  });
  afterAll(() => server.close());
  const port = () => (server.address() as AddressInfo).port;

  test("lists each tenant's own latest versions, with the digests of their zips", async () => {
    const index = await wellKnownIndex(as('a'), ({ name, version }) => `${name}-${version}.zip`);
    const { archive } = await as('a').resolve('tally', null);
    expect(index).toEqual({
      $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json',
      skills: [
        {
          name: 'tally',
          type: 'archive',
          description: 'Does tally. Use when asked to.',
          url: 'tally-1.1.0.zip',
          digest: `sha256:${archive.sha256}`,
        },
      ],
    });
    expect((await wellKnownIndex(as('b'), () => 'x')).skills.map(({ name }) => name)).toEqual(['secret']);
    expect((await wellKnownIndex(as(null), () => 'x')).skills).toEqual([]);
  });

  test('is what `skillbox add http://SERVER` reads', async () => {
    const { cli, project } = ground();
    const { code, json } = await cli(['add', site, '--all', '--yes']);
    expect([code, json.skills.map((one: { name: string; version: string }) => [one.name, one.version])]).toEqual([
      0,
      [['tally', '1.1.0']],
    ]);
    expect(existsSync(join(skillPath(project, 'tally'), 'SKILL.md'))).toBe(true);
    expect((await cli(['outdated'])).code).toBe(0);
  });

  test('the key is shown to the server that is set up, and to no other', async () => {
    const { cli } = ground();
    const key = { SKILLBOX_API_KEY: 'key-b' };
    seen.length = 0;
    await cli(['add', site, '--all', '--list'], key);
    await cli(['add', site, '--all', '--list'], { ...key, SKILLBOX_SERVER_URL: 'https://other.example' });
    expect(seen).toEqual([undefined, undefined]);
    const listed = await cli(['add', site, '--list'], { ...key, SKILLBOX_SERVER_URL: site });
    expect(listed.json.skills.map((one: { name: string }) => one.name)).toEqual(['secret']);
    expect((await cli(['add', site, '--list', '--server', site], key)).json.skills).toHaveLength(1);
    seen.length = 0;
    // From 127.0.0.1 to localhost, which is another origin.
    await cli(['add', `${site}/elsewhere/.well-known/agent-skills/index.json`, '--list', '--server', site], key);
    expect(seen).toEqual(['Bearer key-b', undefined]);
  });
});
