import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiServer, apiRoutes, createServer } from '../../src/api/index.ts';
import { wellKnownIndex } from '../../src/registry/index.ts';
import { byName } from '../api/support.ts';
import { listening } from '../api/world.ts';
import { run } from '../fake-io.ts';
import { ground as registryGround } from '../registry/make.ts';
import { FakeWorld } from '../support/fake-service.ts';
import { skillPath } from '../support/git.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { writeFiles } from '../temp.ts';

tidy();

/** The whole API, with a real registry behind it. */
const registry = registryGround();
let server: ApiServer;
let url: string;
beforeAll(async () => {
  const world = new FakeWorld();
  server = await createServer({
    authenticate: byName,
    serviceFor: caller => ({ ...world.serviceFor(caller), skills: registry.as(caller.tenant, caller.id) }),
    routes: [apiRoutes({ version: '9.9.9', publicUrl: null, limits: {}, blobs: null, index: wellKnownIndex })],
  });
  url = await listening(server);
});
afterAll(() => server.close());

function ground(key = 'all') {
  const at = tempDir('cli-server');
  const project = join(at, 'project');
  mkdirSync(join(project, '.git'), { recursive: true });
  mkdirSync(join(at, 'home'));
  const local = { HOME: join(at, 'home'), SKILLBOX_DATA_DIR: join(at, 'data') };
  const env = { ...local, SKILLBOX_SERVER_URL: url, SKILLBOX_API_KEY: key };
  const cli = async (...words: string[]) => {
    const { code, out, err } = await run([...words, '--json'], { cwd: project, env });
    return { code, err, json: out === '' ? null : JSON.parse(out) };
  };
  const skill = (name: string, version: string, body = 'Count.') =>
    writeFiles(join(at, 'work', version, name), {
      'SKILL.md': `---\nname: ${name}\ndescription: Counts. Use when asked.\nmetadata:\n  version: "${version}"\n---\n\n${body}\n`,
    });
  return { at, project, local, cli, skill };
}

describe('the same commands with a server', () => {
  test('publish, list, tag, yank and download there, and nothing here', async () => {
    const { at, cli, skill, project, local } = ground();
    const pushed = await cli('skill', 'push', skill('tally', '1.0.0'), '--tag', 'stable');
    expect([pushed.code, pushed.json.created]).toEqual([0, true]);
    expect((await cli('skill', 'push', skill('tally', '1.0.0'))).json.created).toBe(false);
    expect((await cli('skill', 'push', skill('tally', '1.0.0', 'Other.'))).json.error).toBe('VERSION_EXISTS');
    await cli('skill', 'push', skill('tally', '1.1.0'));
    expect((await cli('skill', 'list', '--query', 'tally')).json.skills).toMatchObject([{ version: '1.1.0' }]);
    expect((await cli('skill', 'tag', 'tally', 'stable', '1.1.0')).json.tags).toEqual(['stable']);
    expect((await cli('skill', 'yank', 'tally', '1.1.0', '--reason', 'why')).json.yanked.reason).toBe('why');
    expect((await cli('skill', 'versions', 'tally')).json.versions).toMatchObject([
      { version: '1.1.0', status: 'yanked' },
      { version: '1.0.0', status: 'available' },
    ]);
    expect((await cli('skill', 'yank', 'tally', '1.1.0', '--undo')).json.yanked).toBeNull();
    expect((await cli('skill', 'tag', 'tally', 'stable', '--remove')).code).toBe(0);
    const { json } = await cli('skill', 'download', 'tally@~1.0');
    expect(json.path).toBe(join(project, 'tally-1.0.0.zip'));
    expect(readFileSync(json.path).length).toBe(json.skill.archive.size);
    expect((await cli('skill', 'versions', 'nothing')).code).toBe(5);
    const bad = writeFiles(join(at, 'bad'), { 'SKILL.md': '---\nname: Bad\n---\n' });
    const refused = await cli('skill', 'push', bad);
    expect(refused.json).toMatchObject({ error: 'INVALID_SKILL' });
    expect(JSON.stringify(refused.json.details)).toContain('description-missing');
    expect(existsSync(local.SKILLBOX_DATA_DIR)).toBe(false);
  });

  test('add NAME@RANGE and add URL take from there; the lock names the server', async () => {
    const { cli, skill, project } = ground();
    await cli('skill', 'push', skill('from-server', '1.0.0', 'First.'));
    expect((await cli('add', 'from-server@^1', '--yes')).code).toBe(0);
    const lock = () => JSON.parse(readFileSync(join(project, 'skills.lock'), 'utf8')).skills['from-server'];
    expect(lock().source).toEqual({ kind: 'registry', server: `${url}/`, wanted: '^1', version: '1.0.0' });
    await cli('skill', 'push', skill('from-server', '1.2.0', 'Second.'));
    expect((await cli('outdated')).json.outdated[0].latest.version).toBe('1.2.0');
    expect((await cli('update', '--yes')).code).toBe(0);
    expect([lock().version, (await cli('verify')).code]).toEqual(['1.2.0', 0]);

    const other = ground();
    const added = await other.cli('add', url, '--skill', 'from-server', '--yes');
    expect([added.code, added.json.skills[0].version]).toEqual([0, '1.2.0']);
    expect(readdirSync(skillPath(other.project, 'from-server'))).toEqual(['SKILL.md']);
  });

  test('without a key, with a wrong one, and without the server', async () => {
    const { skill } = ground();
    const folder = skill('mine', '1.0.0');
    expect((await ground('wrong').cli('skill', 'push', folder)).json.error).toBe('UNAUTHENTICATED');
    expect((await ground('read').cli('skill', 'push', folder)).json.error).toBe('FORBIDDEN');
    const gone = await run(['skill', 'list', '--server', 'http://127.0.0.1:9', '--json'], {
      env: { HOME: tempDir('home'), SKILLBOX_DATA_DIR: join(tempDir('data'), 'none') },
    });
    expect([gone.code, JSON.parse(gone.out).error]).toEqual([7, 'SERVER_UNREACHABLE']);
  }, 30_000);

  test('a server that answers with another name or version than can be chooses no place to write to', async () => {
    const { at, cli, skill, project } = ground();
    await cli('skill', 'push', skill('place', '1.0.0'));
    const zip = Buffer.from('PK');
    const { json } = await cli('skill', 'versions', 'place');
    const shown = { ...json.versions[0], archive: { sha256: createHash('sha256').update(zip).digest('hex'), size: 2 } };
    let lie = {};
    const hostile = createHttpServer((request, response) => {
      const isFile = request.url?.endsWith('/download') === true;
      response.setHeader('content-type', isFile ? 'application/zip' : 'application/json');
      response.end(isFile ? zip : JSON.stringify({ ...shown, ...lie }));
    });
    await new Promise<void>(resolve => hostile.listen(0, '127.0.0.1', resolve));
    const there = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
    for (lie of [
      { name: '../stolen' },
      { name: join(at, 'stolen') },
      { version: '1/../../stolen' },
      { version: '1.0' },
    ]) {
      const { code, json: told } = await cli('skill', 'download', 'place', '--server', there);
      expect([code, told.error]).toEqual([1, 'SOURCE_FAILED']);
    }
    lie = {};
    expect((await cli('skill', 'download', 'place', '--server', there)).code).toBe(0);
    expect(readdirSync(project).sort()).toEqual(['.git', 'place-1.0.0.zip']);
    expect(readdirSync(at).some(name => name.includes('stolen'))).toBe(false);
    await new Promise(resolve => hostile.close(resolve));
  });
});
