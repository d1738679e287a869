import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { makeZip } from '../skill/make-zip.ts';

type Files = Record<string, string>;

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const urlHash = (text: string) => createHash('sha256').update(text).digest('base64url');

/** A pure Python wheel, as PEP 427 says: files, metadata, and a RECORD with their hashes. */
export function makeWheel(name: string, version: string, files: Files, requires: string[] = []): Buffer {
  const info = `${name.replaceAll('-', '_')}-${version}.dist-info`;
  const all: Files = {
    ...files,
    [`${info}/METADATA`]: `${['Metadata-Version: 2.1', `Name: ${name}`, `Version: ${version}`, ...requires.map(one => `Requires-Dist: ${one}`)].join('\n')}\n`,
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  };
  const record = Object.entries(all).map(
    ([path, text]) => `${path},sha256=${urlHash(text)},${Buffer.byteLength(text)}`,
  );
  all[`${info}/RECORD`] = `${[...record, `${info}/RECORD,,`].join('\n')}\n`;
  return makeZip(Object.entries(all).map(([path, content]) => ({ name: path, content })));
}

export async function makeTarball(files: Files, top: string): Promise<Buffer> {
  const tar = pack();
  for (const [path, content] of Object.entries(files)) tar.entry({ name: `${top}/${path}` }, content);
  tar.finalize();
  return gzipSync(await buffer(tar));
}

/** A package of the registry: its package.json and its files. */
export type NpmPackage = { name: string; version: string; manifest?: object; files: Files };

/** A package index for pip and a registry for npm on loopback, from packages made by hand. */
export class PackageServer {
  readonly requests: string[] = [];
  readonly #files = new Map<string, Buffer>();
  readonly #links = new Map<string, string[]>();
  readonly #packages = new Map<string, Record<string, object>>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((incoming, outgoing) => {
      const url = decodeURIComponent(incoming.url ?? '');
      this.requests.push(url);
      const answer = this.#answer(url);
      if (answer === null) outgoing.writeHead(404).end();
      else outgoing.writeHead(200, { 'content-type': answer.type }).end(answer.body);
    });
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
  get pip(): string {
    return `${this.origin}/simple`;
  }
  get npm(): string {
    return `${this.origin}/npm/`;
  }

  /** A wheel or a source archive under its file name; answers its sha256. */
  addFile(project: string, file: string, bytes: Buffer): string {
    this.#files.set(`/files/${file}`, bytes);
    this.#links.set(project, [...(this.#links.get(project) ?? []), file]);
    return sha256(bytes);
  }

  addWheel(name: string, version: string, files: Files, requires: string[] = []): string {
    return this.addFile(
      name,
      `${name.replaceAll('-', '_')}-${version}-py3-none-any.whl`,
      makeWheel(name, version, files, requires),
    );
  }

  /** Answers its integrity. */
  async addPackage({ name, version, manifest = {}, files }: NpmPackage): Promise<string> {
    const own = { name, version, ...manifest };
    const bytes = await makeTarball({ 'package.json': JSON.stringify(own), ...files }, 'package');
    const path = `/npm/${name}/-/${name.replace(/.*\//, '')}-${version}.tgz`;
    this.#files.set(path, bytes);
    const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
    const known = this.#packages.get(name) ?? {};
    this.#packages.set(name, { ...known, [version]: { ...own, dist: { path, integrity } } });
    return integrity;
  }

  #answer(url: string): { type: string; body: string | Buffer } | null {
    const file = this.#files.get(url);
    if (file !== undefined) return { type: 'application/octet-stream', body: file };
    const project = /^\/simple\/([^/]+)\/$/.exec(url)?.[1];
    const links = project === undefined ? undefined : this.#links.get(project);
    if (links !== undefined) {
      const anchors = links.map(
        name =>
          `<a href="/files/${name}#sha256=${sha256(this.#files.get(`/files/${name}`) ?? Buffer.alloc(0))}">${name}</a>`,
      );
      return { type: 'text/html', body: `<!DOCTYPE html><html><body>${anchors.join('\n')}</body></html>` };
    }
    const name = /^\/npm\/(.+)$/.exec(url)?.[1] ?? '';
    const versions = this.#packages.get(name);
    if (versions === undefined) return null;
    const shown = Object.entries(versions).map(([version, manifest]) => {
      const { dist, ...rest } = manifest as { dist: { path: string; integrity: string } };
      return [version, { ...rest, dist: { tarball: this.origin + dist.path, integrity: dist.integrity } }];
    });
    const latest = Object.keys(versions).at(-1);
    const body = { name, 'dist-tags': { latest }, versions: Object.fromEntries(shown) as object };
    return { type: 'application/json', body: JSON.stringify(body) };
  }
}
