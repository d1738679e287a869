import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { buildHelper } from '../../scripts/build-helper.mjs';
import { type Layer, type Manager, readManifests } from '../../src/layers/index.ts';
import { type RuntimeSpec, run as runIn } from '../../src/sandbox/index.ts';
import { run } from '../fake-io.ts';
import { simpleOci, writeParts } from '../images/make-image.ts';
import { file, link, makeTar } from '../images/make-tar.ts';
import { DOCKER, DOCKER_SOCKET, PODMAN, PODMAN_SOCKET } from '../support/drivers.ts';
import { canMakePython, makeNodeImages, makePythonImages } from '../support/interpreter-image.ts';
import { PackageServer } from '../support/packages.ts';
import { errors, QUIET, specOf, text } from '../support/sandbox-spec.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { ensure, SILENT, type Site, siteOf } from '../support/workshop.ts';
import { writeFiles } from '../temp.ts';

// Each builds something; how long that takes is the machine's affair.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
tidy();
const skip = !existsSync('/usr/bin/bwrap') || !canMakePython;
const server = new PackageServer();
const digests = { python: '1'.repeat(64), bare: '2'.repeat(64), node: '3'.repeat(64), alone: '4'.repeat(64) };
const roots = { python: '', bare: '', node: '', alone: '' };
const PATH = '/usr/local/bin:/usr/bin:/bin';
const NEEDS = {
  pip: { 'requirements.txt': 'greeter==1.0\n' },
  npm: { 'package.json': '{"dependencies":{"greeter":"1"}}' },
};

const imageOf = (name: keyof typeof roots): RuntimeSpec => ({
  kind: 'image',
  name: `${name}:1`,
  digest: digests[name],
  root: roots[name],
});

function build({ layers }: Site, manager: Manager, runtime: RuntimeSpec): Promise<Layer> {
  const files: Record<string, string> = NEEDS[manager];
  const [manifest] = readManifests(path => (path in files ? Buffer.from(files[path] ?? '') : null));
  if (manifest === undefined) throw new Error('there is nothing to install');
  return layers.ensure({ manifest, runtime, standIn: null, path: PATH, tenant: 'local' }, SILENT);
}

/** What a program in the image prints that has the layer, and no network. */
async function use({ sandbox }: Site, layer: Layer, runtime: RuntimeSpec, argv: string[]): Promise<string> {
  const at = layer.manager === 'pip' ? '/sandbox/site-packages' : '/sandbox/node_modules';
  const outcome = await runIn(
    sandbox,
    specOf(argv, {
      runtime,
      mounts: [
        { kind: 'bind', source: layer.path, at, writable: false, exec: true, protect: null },
        { kind: 'text', at: '/sandbox/main.cjs', text: argv.at(-1) ?? '' },
        { kind: 'tmpfs', at: '/tmp', bytes: 1024 ** 2 },
      ],
      env: { PATH, HOME: '/root', PYTHONPATH: at },
      limits: { memoryBytes: 512 * 1024 ** 2 },
    }),
    QUIET,
  );
  return text(outcome) + errors(outcome);
}

beforeAll(async () => {
  if (skip) return;
  buildHelper();
  await server.start();
  server.addWheel('greeter', '1.0', { 'greeter/__init__.py': 'import sys\nWORD = "hello from a wheel"\n' });
  await server.addPackage({
    name: 'greeter',
    version: '1.0.0',
    files: { 'index.js': 'module.exports = "hello from npm";' },
  });
  const python = makePythonImages();
  const node = await makeNodeImages('usr/share/nodejs/npm');
  Object.assign(roots, { python: python.withPip, bare: python.bare, node: node.withNpm, alone: node.bare });
});
afterAll(() => server.close());

describe.skipIf(skip)('dependencies of a skill that runs in an image', () => {
  let site: Site;
  beforeAll(() => {
    site = siteOf(server);
  });

  test('SB-07 pip of the image builds them, and the run in it has them, read-only', async () => {
    const layer = await build(site, 'pip', imageOf('python'));
    const script = `import greeter, os
print(greeter.WORD, greeter.__file__, open('/etc/release').read().strip(), greeter.__cached__ is not None and os.path.exists(greeter.__cached__))
try: open('/sandbox/site-packages/x', 'w')
except OSError as error: print(error.strerror)`;
    expect(await use(site, layer, imageOf('python'), ['python3', '-c', script])).toBe(
      'hello from a wheel /sandbox/site-packages/greeter/__init__.py an image of its own True\nRead-only file system\n',
    );
    const about = JSON.parse(readFileSync(join(site.directory, layer.key, 'layer.json'), 'utf8'));
    expect(about).toMatchObject({
      identity: `python3 of the image ${digests.python}, ${process.platform}-${process.arch}`,
      tools: expect.stringMatching(/^python3 3\.\d+\.\d+, pip \d/),
      lock: expect.stringMatching(/^greeter==1\.0 --hash=sha256:[0-9a-f]{64}\n$/),
      hashed: true,
    });
    // Once built, nobody is asked.
    const asked = server.requests.length;
    expect(await build(site, 'pip', imageOf('python'))).toEqual({ ...layer, built: false });
    expect(server.requests).toHaveLength(asked);
  });

  test('SB-07 another image, and the host, have layers of their own', async () => {
    const first = await build(site, 'pip', imageOf('python'));
    const second = await build(site, 'pip', { ...imageOf('python'), digest: '9'.repeat(64) } as RuntimeSpec);
    const host = await ensure(site, NEEDS.pip);
    expect(new Set([first.key, second.key, host.key]).size).toBe(3);
  });

  test('SB-07 npm of the image builds them, wherever the image keeps it, and the host need have none', async () => {
    const site = siteOf(server, { programs: { search: ['/nonexistent'], notes: tempDir('notes') } });
    const layer = await build(site, 'npm', imageOf('node'));
    const program = "console.log(require('greeter'), require('node:fs').readFileSync('/etc/release', 'utf8').trim())";
    expect(await use(site, layer, imageOf('node'), ['node', '/sandbox/main.cjs', program])).toBe(
      'hello from npm an image of its own\n',
    );
  });

  test.each([
    ['pip', 'bare', 'The image bare:1 has python3 and no pip.', 'python3-pip'],
    ['npm', 'alone', 'The image alone:1 has node and no npm.', 'npm beside node'],
  ] as const)(
    'SB-07 without %s in it nothing is fetched, and what is missing is said',
    async (manager, image, message, hint) => {
      const site = siteOf(server);
      const asked = server.requests.length;
      await expect(build(site, manager, imageOf(image))).rejects.toMatchObject({
        code: 'RUNTIME_MISSING',
        message,
        hint: expect.stringContaining(hint),
      });
      expect(server.requests).toHaveLength(asked);
      expect(readdirSync(join(site.directory, 'work'))).toEqual([]);
    },
  );
});

const BUSYBOX = '/usr/bin/busybox';

describe.skipIf(skip || !existsSync(BUSYBOX))('an image whose interpreter lies about itself', () => {
  test.each([
    ['a link to a file of the host', 'ln -s /etc/passwd /layer/inside.json'],
    ['a pipe', 'mkfifo /layer/inside.json'],
    ['nothing', 'true'],
    ['no JSON', 'echo "pip 1" > /layer/inside.json'],
    ['another shape', 'echo "{\\"interpreter\\": [], \\"manager\\": 1}" > /layer/inside.json'],
    ['more than is read', 'yes "[" | head -c 9000 > /layer/inside.json'],
  ])('SB-07 it says %s: refused, and nothing is fetched', async (_what, does) => {
    const root = tempDir('image', 0o755);
    writeFiles(root, { 'bin/python3*': `#!/bin/sh\n${does}\n` });
    cpSync(BUSYBOX, join(root, 'bin/busybox'));
    for (const name of ['sh', 'ln', 'mkfifo', 'true', 'echo', 'yes', 'head'])
      symlinkSync('busybox', join(root, 'bin', name));
    const asked = server.requests.length;
    const image = { kind: 'image', name: 'liar', digest: '7'.repeat(64), root } as const;
    await expect(build(siteOf(server), 'pip', image)).rejects.toMatchObject({
      code: 'DEPENDENCIES_FAILED',
      message: 'the interpreter of the image does not say what it is',
    });
    expect(server.requests).toHaveLength(asked);
  });

  test('SB-07 what it says it downloaded is a link: nothing of the host is looked at, or told', async () => {
    const secret = tempDir('secret');
    writeFiles(secret, { 'name-of-a-file': 'x' });
    const said = '{"interpreter": "3.11.0", "manager": "1", "cli": ""}';
    const root = tempDir('image', 0o755);
    writeFiles(root, {
      'bin/python3*': `#!/bin/sh\ncase "$2" in *inside.py) echo '${said}' > /layer/inside.json;; *) ln -s ${secret} /layer/wheels;; esac\n`,
    });
    cpSync(BUSYBOX, join(root, 'bin/busybox'));
    for (const name of ['sh', 'ln', 'echo']) symlinkSync('busybox', join(root, 'bin', name));
    const image = { kind: 'image', name: 'liar', digest: '8'.repeat(64), root } as const;
    const fault = await build(siteOf(server), 'pip', image).catch(error => error);
    expect(fault).toMatchObject({ code: 'DEPENDENCIES_FAILED' });
    expect(fault.message).not.toContain('name-of-a-file');
    expect(fault.message).toContain('no directory');
  });

  test.each([
    ['nothing', 'true'],
    ['a link', 'ln -s /etc/passwd /layer/package-lock.json'],
    ['a directory', 'mkdir /layer/package-lock.json'],
    ['a pipe', 'mkfifo /layer/package-lock.json'],
  ])(
    'SB-07 its npm leaves %s in place of a lock: the build has failed, and no path of ours is told',
    async (_what, does) => {
      const said = '{"interpreter": "20", "manager": "1", "cli": "/npm"}';
      const root = tempDir('image', 0o755);
      writeFiles(root, {
        'bin/node*': `#!/bin/sh\ncase "$1" in *inside.mjs) echo '${said}' > /layer/inside.json;; *) ${does};; esac\n`,
      });
      cpSync(BUSYBOX, join(root, 'bin/busybox'));
      for (const name of ['sh', 'ln', 'echo', 'mkdir', 'mkfifo', 'true'])
        symlinkSync('busybox', join(root, 'bin', name));
      const image = { kind: 'image', name: 'liar', digest: '6'.repeat(64), root } as const;
      const fault = await build(siteOf(server), 'npm', image).catch(error => error);
      expect(['DEPENDENCIES_FAILED', 'DEPENDENCIES_REFUSED']).toContain(fault.code);
      expect(fault.message).not.toContain('/tmp/');
    },
  );
});

describe.skipIf(skip)('skillbox run: an imported image with dependencies', () => {
  const base = tempDir('run');
  const data = join(base, 'data');
  const skill = (name: string) =>
    writeFiles(join(base, name), {
      'SKILL.md': `---\nname: ${name}\nversion: 1.0.0\ndescription: Greets.\nlang: python\nimage: snake:1\n---\n\n# Hello\n`,
      'requirements.txt': 'greeter==1.0\n',
      'scripts/main.py': `import greeter\nprint(greeter.WORD, open('/etc/release').read().strip())\n`,
    });
  const env = () => ({ SKILLBOX_DATA_DIR: data, SKILLBOX_PIP_INDEX_URL: server.pip });

  beforeAll(async () => {
    execFileSync('tar', ['-C', roots.python, '-cf', join(base, 'snake.tar'), '.']);
    const imported = await run(['image', 'import', 'snake:1', join(base, 'snake.tar')], { env: env() });
    expect(imported).toMatchObject({ code: 0 });
  });

  test('SB-07 X-14 under bubblewrap: a dry run builds nothing, a run does', async () => {
    const words = ['run', skill('greets'), '--json'];
    const dry = JSON.parse((await run([...words, '--dry-run'], { env: env(), own: true })).out);
    expect(dry.layers).toEqual([{ manager: 'pip', key: null, cached: false }]);
    const ran = JSON.parse((await run(words, { env: env(), own: true })).out);
    expect(ran).toMatchObject({ status: 'success', logs: 'hello from a wheel an image of its own\n' });
    expect(ran.sandbox.runtime).toMatch(/^python3, snake:1@sha256:/);
  });

  test("SB-07 X-14 they are built by the interpreter that the image's PATH names, and not by another where one usually is", async () => {
    const changes = makeTar([
      link('opt/own/bin/python3', realpathSync('/usr/bin/python3')),
      file('usr/bin/python3', 'no program\n', 0o755),
    ]);
    const layers = [readFileSync(join(base, 'snake.tar')), changes];
    const at = writeParts(join(base, 'own'), simpleOci(layers, { env: ['PATH=/opt/own/bin:/usr/bin:/bin'] }));
    expect(await run(['image', 'import', 'snake:own', at], { env: env() })).toMatchObject({ code: 0 });
    const folder = skill('own-path');
    const text = readFileSync(join(folder, 'SKILL.md'), 'utf8').replace('snake:1', 'snake:own');
    writeFiles(folder, { 'SKILL.md': text });
    const ran = JSON.parse((await run(['run', folder, '--json'], { env: env(), own: true })).out);
    expect(ran).toMatchObject({ status: 'success', logs: 'hello from a wheel an image of its own\n' });
    expect(ran.sandbox.runtime).toMatch(/^\/opt\/own\/bin\/python3, snake:own@sha256:/);
  });

  for (const [driver, socket] of [
    [DOCKER, DOCKER_SOCKET],
    [PODMAN, PODMAN_SOCKET],
  ] as const)
    test.skipIf(driver.skip !== null)(
      `SB-07 X-14 under ${driver.name}: built in the container, and used in it`,
      async () => {
        const own = {
          ...env(),
          SKILLBOX_DOCKER_SOCKET: socket,
          SKILLBOX_DOCKER_IMAGE: process.env.SKILLBOX_DOCKER_IMAGE ?? 'skillbox-test',
        };
        // The layer of the same image that another sandbox built would do: built anew.
        rmSync(join(data, 'layers'), { recursive: true, force: true });
        const asked = server.requests.length;
        const ran = JSON.parse(
          (await run(['run', skill('greets'), '--sandbox', 'docker', '--json'], { env: own, own: true })).out,
        );
        expect(ran).toMatchObject({ status: 'success', logs: 'hello from a wheel an image of its own\n' });
        expect(server.requests.length).toBeGreaterThan(asked);
        // The engine's own image for skills that name none has python3 without pip.
        const plain = writeFiles(join(base, 'plain'), {
          'SKILL.md': '---\nname: plain\nversion: 1.0.0\ndescription: Greets.\nlang: python\n---\n\n# Hello\n',
          'requirements.txt': 'greeter==1.0\n',
          'scripts/main.py': 'import greeter\n',
        });
        const refused = JSON.parse(
          (await run(['run', plain, '--sandbox', 'docker', '--json'], { env: own, own: true })).out,
        );
        expect(refused).toMatchObject({
          error: 'RUNTIME_MISSING',
          message: expect.stringMatching(/has python3 and no pip/),
        });
      },
    );
});
