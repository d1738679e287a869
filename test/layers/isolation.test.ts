import { existsSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeTarball, PackageServer } from '../support/packages.ts';
import { tempDir, tidy } from '../support/temp.ts';
import { ensure, siteOf, useLayer } from '../support/workshop.ts';

tidy();
const skip = !existsSync('/usr/bin/bwrap');
const server = new PackageServer();
const other = new PackageServer();

/** A build backend that tries everything and puts what it saw into the wheel that it makes. */
const backend = (home: string, file: string) => `
import json, os, socket, urllib.request, zipfile

def attempt(act):
    try:
        return str(act())
    except Exception as error:
        return type(error).__name__

def through_proxy(url):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({'http': 'http://127.0.0.1:3128'}))
    try:
        return opener.open(url, timeout=5).status
    except urllib.error.HTTPError as error:
        return error.code

def build_wheel(directory, config_settings=None, metadata_directory=None):
    found = {
        'environment': sorted(name for name in os.environ if not name.startswith(('PIP_', 'PYTHON', 'PEP517', '_PYPROJECT'))),
        'home': attempt(lambda: os.listdir('${home}')),
        'file': attempt(lambda: open('${file}').read()),
        'top': sorted(os.listdir('/')),
        'direct': attempt(lambda: socket.create_connection(('127.0.0.1', ${portOf(server)}), 2)),
        'outside': attempt(lambda: socket.create_connection(('192.0.2.1', 80), 2)),
        'name': attempt(lambda: socket.getaddrinfo('index.example', 80)),
        'index': attempt(lambda: through_proxy('http://127.0.0.1:${portOf(server)}/simple/name-of/')),
        'other': attempt(lambda: through_proxy('http://127.0.0.1:${portOf(other)}/simple/name-of/')),
        'metadata': attempt(lambda: through_proxy('http://169.254.169.254/')),
        'usr': attempt(lambda: open('/usr/planted', 'w')),
    }
    name = 'curious-1.0-py3-none-any.whl'
    with zipfile.ZipFile(os.path.join(directory, name), 'w') as wheel:
        wheel.writestr('curious.py', 'found = ' + repr(json.dumps(found)))
        wheel.writestr('curious-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: curious\\nVersion: 1.0\\n')
        wheel.writestr('curious-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
        wheel.writestr('curious-1.0.dist-info/RECORD', '')
    return name
`;
const portOf = (index: PackageServer) => new URL(index.origin).port;

beforeAll(async () => {
  await server.start();
  await other.start();
  server.addWheel('name-of', '2.1', { 'name_of.py': '' });
});
afterAll(() => {
  server.close();
  other.close();
});

describe.skipIf(skip)('the sandbox of a build', () => {
  test('SB-07 a stranger who builds there sees no user files and reaches the index only', async () => {
    const secret = join(tempDir('secret', 0o755), 'secret.txt');
    writeFileSync(secret, 'secret', { mode: 0o644 });
    const project =
      '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "curious"\nversion = "1.0"\n';
    const files = {
      'pyproject.toml': project,
      'backend.py': backend(homedir(), secret),
      'PKG-INFO': 'Name: curious\n',
    };
    server.addFile('curious', 'curious-1.0.tar.gz', await makeTarball(files, 'curious-1.0'));
    const site = siteOf(server, { allow: { sources: true, scripts: false } });
    const layer = await ensure(site, { 'requirements.txt': 'curious\n' });
    const seen = JSON.parse(await useLayer(site, layer, 'import curious; print(curious.found)')) as Record<
      string,
      unknown
    >;
    expect(seen).toEqual({
      environment: ['HOME', 'LANG', 'PATH', 'TMPDIR'],
      home: homedir() === '/root' ? '[]' : 'FileNotFoundError',
      file: 'FileNotFoundError',
      top: expect.not.arrayContaining(['work', 'var', 'srv', 'mnt']) as string[],
      direct: 'ConnectionRefusedError',
      outside: 'OSError',
      name: 'gaierror',
      index: '200',
      other: '403',
      metadata: '403',
      usr: 'OSError',
    });
    expect(other.requests).toEqual([]);
  });

  test('SB-07 a layer from source belongs to the tenant whose build it was', async () => {
    const site = siteOf(server, { allow: { sources: true, scripts: false } });
    const of = (tenant: string) =>
      ensure(site, { 'requirements.txt': 'name-of\n' }, { onProgress: () => undefined, signal: null }, tenant);
    expect((await of('one')).path).not.toBe((await of('two')).path);
  });
});
