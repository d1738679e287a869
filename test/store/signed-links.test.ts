import { chmodSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openBlobs, openSignedLinks } from '../../src/store/index.ts';
import { bytesOf, WRITER } from '../support/record.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();

const WISH = { filename: 'a.txt', contentType: 'text/plain', seconds: 60, tenant: 'acme' };
const SHA256 = 'a'.repeat(64);
const queryOf = (url: string) => new URL(url).searchParams;

function open(address = 'http://127.0.0.1:8080') {
  const directory = tempDir('links');
  const path = join(directory, 'url.key');
  return {
    directory,
    path,
    again: () => openSignedLinks(path, () => address),
    links: openSignedLinks(path, () => address),
  };
}

describe('SB-09 links to blobs in a folder', () => {
  it('are made below the address of the server, and any process of it knows them', () => {
    const { links, again } = open('https://box.example.org/base/');
    const url = links.sign(SHA256, WISH);
    expect(url.startsWith(`https://box.example.org/base/v1/blobs/${SHA256}?`)).toBe(true);
    expect(again().verify(SHA256, queryOf(url))).toMatchObject({
      sha256: SHA256,
      filename: 'a.txt',
      contentType: 'text/plain',
      tenant: 'acme',
    });
  });

  it('are what the blobs answer', async () => {
    const { directory, links } = open();
    const blobs = openBlobs({ kind: 'disk', sign: links.sign }, directory, WRITER);
    const { sha256 } = await blobs.put(bytesOf('x'));
    const url = await blobs.url(sha256, WISH);
    expect(links.verify(sha256, queryOf(url)).sha256).toBe(sha256);
    expect(() => links.verify(SHA256, queryOf(url))).toThrow(expect.objectContaining({ code: 'LINK_REFUSED' }));
    await expect(blobs.url(sha256, { ...WISH, seconds: 0 })).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('on a machine of one’s own are the files', async () => {
    const { directory } = open();
    const blobs = openBlobs({ kind: 'disk', sign: null }, directory, WRITER);
    const { sha256 } = await blobs.put(bytesOf('x'));
    expect(readFileSync(new URL(await blobs.url(sha256, WISH)), 'utf8')).toBe('x');
  });

  it('of another server, or of before the key was lost, are refused', () => {
    const { links, path, again } = open();
    const url = links.sign(SHA256, WISH);
    expect(() => open().links.verify(SHA256, queryOf(url))).toThrow(expect.objectContaining({ code: 'LINK_REFUSED' }));
    rmSync(path);
    expect(() => again().verify(SHA256, queryOf(url))).toThrow(expect.objectContaining({ code: 'LINK_REFUSED' }));
  });

  it('the key is made once, for its owner alone', () => {
    const { links, path, again } = open();
    links.sign(SHA256, WISH);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const made = readFileSync(path, 'utf8');
    again().sign(SHA256, WISH);
    expect(readFileSync(path, 'utf8')).toBe(made);
  });

  it.each<[string, (path: string) => void]>([
    ['can be read by others', path => chmodSync(path, 0o644)],
    ['is no key', path => writeFileSync(path, 'x')],
    [
      'is a link',
      path => {
        writeFileSync(`${path}.other`, readFileSync(path), { mode: 0o600 });
        rmSync(path);
        symlinkSync(`${path}.other`, path);
      },
    ],
  ])('with a key that %s none is made or taken', (_what, spoil) => {
    const { links, path, again } = open();
    const url = links.sign(SHA256, WISH);
    spoil(path);
    expect(() => again().sign(SHA256, WISH)).toThrow(expect.objectContaining({ code: 'UNREADABLE' }));
    expect(() => again().verify(SHA256, queryOf(url))).toThrow(expect.objectContaining({ code: 'UNREADABLE' }));
  });
});
