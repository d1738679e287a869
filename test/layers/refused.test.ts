import { describe, expect, test } from 'vitest';
import { readManifests } from '../../src/layers/index.ts';

const read = (files: Record<string, string>) =>
  readManifests(path => (path in files ? Buffer.from(files[path] ?? '') : null));
const refusal = { code: 'DEPENDENCIES_REFUSED', exit: 3 };

function outcomeOf(files: Record<string, string>): unknown {
  try {
    return read(files);
  } catch (error) {
    return error;
  }
}

describe('requirements.txt', () => {
  test.each([
    '-r other.txt',
    '-rother.txt',
    '--requirement other.txt',
    '-c constraints.txt',
    '--constraint constraints.txt',
    '-e .',
    '-e git+https://git.example/x.git#egg=x',
    '--editable .',
    '-i https://evil.example/simple',
    '--index-url https://evil.example/simple',
    '--index-url=https://evil.example/simple',
    '--extra-index-url https://evil.example/simple',
    '--find-links https://evil.example/',
    '-f ./wheels',
    '--no-index',
    '--trusted-host evil.example',
    '--pre',
    '--no-binary :all:',
    '--require-hashes',
    '--use-feature=x',
    'x==1 --global-option="--evil"',
    'x==1 --config-settings=a=b',
    'x==1 --install-option=y',
    'x==1 \\\n--index-url https://evil.example/simple',
    'x \\\n  -r other.txt',
    'x==1 --hash=md5:00000000000000000000000000000000',
    'file:///etc/passwd',
    'file:wheels/x.whl',
    './x-1.0-py3-none-any.whl',
    '../x',
    '/tmp/x.whl',
    'wheels/x-1.0-py3-none-any.whl',
    '~/x',
    'C:\\x.whl',
    'https://evil.example/x-1.0.whl',
    'git+https://git.example/x.git',
    'git+ssh://git@git.example/x.git',
    'x @ https://evil.example/x.whl',
    'x@https://evil.example/x.whl',
    'x @ file:///etc/passwd',
    'x[extra] @ git+https://git.example/x',
    `x==$${'{VERSION}'}`,
    `$${'{PACKAGE}'}`,
    '$PACKAGE',
    'x==1;python_version>"3"$(id)',
    'x y',
    'x==',
    '==1',
    'b\u00fccher',
    'x\u0000',
  ])('SB-07 %j is refused', line => {
    expect(outcomeOf({ 'requirements.txt': `good==1\n${line}\n` })).toMatchObject(refusal);
  });

  test('SB-07 names, versions, extras, markers and hashes are taken, in one spelling', () => {
    const hash = 'a'.repeat(64);
    const [manifest] = read({
      'requirements.txt': [
        '\ufeff# a comment',
        'Zope.Interface',
        'requests [socks, security] >= 2.8.1 , == 2.8.* ; python_version < "3.13" and sys_platform != \'win32\'  # why',
        'pinned==1.0 \\',
        `    --hash=sha256:${hash} \\`,
        `    --hash=sha512:${'b'.repeat(128)}`,
        'old (>=1,<2)',
        '',
      ].join('\r\n'),
    });
    expect(manifest).toEqual({
      manager: 'pip',
      requirements: [
        'Zope.Interface',
        'old>=1,<2',
        `pinned==1.0 --hash=sha256:${hash} --hash=sha512:${'b'.repeat(128)}`,
        'requests[socks,security]>=2.8.1,==2.8.* ; python_version < "3.13" and sys_platform != \'win32\'',
        '',
      ].join('\n'),
    });
  });

  test('SB-07 an empty list is no list', () => {
    expect(read({ 'requirements.txt': '# nothing\n\n' })).toEqual([]);
    expect(read({})).toEqual([]);
  });

  test('SB-07 the error names the line', () => {
    expect(outcomeOf({ 'requirements.txt': 'a\n\n-r b.txt\n' })).toMatchObject({
      message: 'requirements.txt:3 holds an option: -r b.txt',
      details: { file: 'requirements.txt', line: 3 },
    });
  });
});

describe('package.json', () => {
  test.each([
    'file:../x',
    'file:/etc',
    'link:../x',
    'portal:../x',
    'workspace:*',
    './x',
    '../x',
    '~/x',
    '/x',
    'x.tgz/../y',
    'https://evil.example/x.tgz',
    'http://evil.example/x.tgz',
    'git+https://git.example/x.git',
    'git+ssh://git@git.example/x.git',
    'git://git.example/x.git',
    'github:user/repository',
    'gist:1234',
    'user/repository',
    'user/repository#main',
    'git@git.example:x/y.git',
    'npm:x@file:../y',
    'npm:../x@1',
    'jsr:@x/y@1',
    'catalog:',
  ])('SB-07 a dependency from %j is refused, in every group', from => {
    for (const group of ['dependencies', 'optionalDependencies', 'peerDependencies', 'devDependencies'])
      expect(outcomeOf({ 'package.json': JSON.stringify({ [group]: { x: from } }) }), group).toMatchObject(refusal);
    expect(
      outcomeOf({ 'package.json': JSON.stringify({ dependencies: { x: '1' }, overrides: { y: from } }) }),
    ).toMatchObject(refusal);
  });

  test.each([
    ['workspaces', { workspaces: ['packages/*'], dependencies: { x: '1' } }],
    ['a name that is a path', { dependencies: { '../x': '1' } }],
    ['a name with a NUL', { dependencies: { 'x\0': '1' } }],
    ['a version that is no text', { dependencies: { x: { version: '1' } } }],
    ['dependencies that are a list', { dependencies: ['x'] }],
  ])('SB-07 %s: refused', (_what, content) => {
    expect(outcomeOf({ 'package.json': JSON.stringify(content) })).toMatchObject(refusal);
  });

  test('SB-07 what is no JSON is refused', () => {
    expect(outcomeOf({ 'package.json': '{"dependencies":' })).toMatchObject(refusal);
    expect(outcomeOf({ 'package.json': '[]' })).toMatchObject(refusal);
  });

  test('SB-07 ranges, tags and aliases are taken; scripts, engines and the rest do not reach npm', () => {
    const dependencies = { a: '^1.2.3 || 2.x', b: 'latest', c: 'npm:@scope/other@~1', '@scope/d': '>=1 <2', e: '' };
    const [manifest] = read({
      'package.json': JSON.stringify({
        name: 'x',
        scripts: { preinstall: 'evil' },
        dependencies,
        overrides: { a: { f: '$b' }, 'g@^1': '1.0.0' },
        publishConfig: { registry: 'https://evil.example' },
      }),
    });
    if (manifest?.manager !== 'npm') throw new Error('no npm manifest');
    expect(JSON.parse(manifest.packageJson)).toEqual({
      name: 'skill',
      version: '0.0.0',
      private: true,
      dependencies,
      optionalDependencies: {},
      peerDependencies: {},
      overrides: { a: { f: '$b' }, 'g@^1': '1.0.0' },
    });
    expect(read({ 'package.json': '{"type":"module","devDependencies":{"x":"1"}}' })).toEqual([]);
  });

  test('SB-07 what only its author needs does not reach npm, neither from package.json nor from the lock', () => {
    const [manifest] = read({
      'package.json': JSON.stringify({
        dependencies: { a: '1', both: '2' },
        devDependencies: { both: '3', tool: '^4' },
        // npm looks for `$name` in all groups.
        overrides: { x: '$tool', y: { z: '$both' } },
      }),
      'package-lock.json': JSON.stringify({
        lockfileVersion: 3,
        packages: {
          'node_modules/a': { version: '1.0.0', integrity: 'sha512-AAAA' },
          'node_modules/tool': { version: '4.0.0', dev: true },
          'node_modules/tool/node_modules/part': { version: '1.0.0', dev: true, optional: true },
          'node_modules/shared': { version: '1.0.0', integrity: 'sha512-AAAA', devOptional: true },
        },
      }),
    });
    if (manifest?.manager !== 'npm' || manifest.lock === null) throw new Error('no npm manifest');
    const asked = JSON.parse(manifest.packageJson) as object;
    expect(asked).toMatchObject({ dependencies: { a: '1', both: '2' }, overrides: { x: '^4', y: { z: '$both' } } });
    expect(asked).not.toHaveProperty('devDependencies');
    const { packages } = JSON.parse(manifest.lock.text) as { packages: Record<string, object> };
    expect(Object.keys(packages)).toEqual(['', 'node_modules/a', 'node_modules/shared']);
    expect(packages['']).not.toHaveProperty('devDependencies');
    expect(manifest.lock.hashed).toBe(true);
  });
});

describe('package-lock.json', () => {
  const locked = (packages: object, version: unknown = 3) => ({
    'package.json': '{"dependencies":{"x":"1"}}',
    'package-lock.json': JSON.stringify({ lockfileVersion: version, packages }),
  });

  test.each<[string, object]>([
    ['a link', { 'node_modules/x': { link: true, resolved: '../x' } }],
    ['a path', { 'node_modules/x': { version: '1.0.0', resolved: 'file:../x.tgz' } }],
    ['a repository', { 'node_modules/x': { version: '1.0.0', resolved: 'git+ssh://git@git.example/x.git#1' } }],
    ['credentials', { 'node_modules/x': { version: '1.0.0', resolved: 'https://a:b@registry.example/x.tgz' } }],
    ['a workspace', { 'packages/x': { version: '1.0.0' } }],
    ['a way out', { 'node_modules/../../x': { version: '1.0.0' } }],
    ['a URL as version', { 'node_modules/x': { version: 'https://evil.example/x.tgz' } }],
    ['an odd integrity', { 'node_modules/x': { version: '1.0.0', integrity: 'md5-AAAA' } }],
    ['an odd name', { 'node_modules/x': { version: '1.0.0', name: '../y' } }],
  ])('SB-07 %s is refused', (_what, packages) => {
    expect(outcomeOf(locked(packages))).toMatchObject(refusal);
  });

  test('SB-07 a lock of npm 6 is refused with what to do', () => {
    expect(outcomeOf(locked({}, 1))).toMatchObject({ ...refusal, message: expect.stringContaining('npm 7') as string });
  });
});
