import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { file, makeTar, sha256 } from './make-tar.ts';

export const ARCH = process.arch === 'x64' ? 'amd64' : process.arch;

type Parts = Record<string, string | Buffer>;

/** How an image is told apart from an honest one. */
export type Lies = {
  architecture?: string;
  os?: string;
  diffIds?: string[];
  env?: string[];
  pack?: (layer: Buffer) => Buffer;
  tags?: string[];
};

function makeConfig(layers: readonly Buffer[], lies: Lies): string {
  return JSON.stringify({
    os: lies.os ?? 'linux',
    architecture: lies.architecture ?? ARCH,
    config: { Env: lies.env ?? [] },
    rootfs: { type: 'layers', diff_ids: lies.diffIds ?? layers.map(layer => `sha256:${sha256(layer)}`) },
  });
}

/** The parts of what `docker save` writes. */
export function dockerParts(layers: readonly Buffer[], lies: Lies = {}): Parts {
  const config = makeConfig(layers, lies);
  const pack = lies.pack ?? (layer => layer);
  const names = layers.map((_layer, index) => `layer${index}/layer.tar`);
  const manifest = [{ Config: `${sha256(config)}.json`, RepoTags: lies.tags ?? ['x:1'], Layers: names }];
  return {
    ...Object.fromEntries(layers.map((layer, index) => [names[index], pack(layer)])),
    [`${sha256(config)}.json`]: config,
    'manifest.json': JSON.stringify(manifest),
  };
}

export type OciImage = { parts: Parts; descriptor: { mediaType: string; digest: string; size: number } };

/** One image of an OCI layout: its blobs, and the descriptor of its manifest. */
export function ociImage(layers: readonly Buffer[], lies: Lies = {}): OciImage {
  const parts: Parts = {};
  const add = (data: string | Buffer, mediaType: string) => {
    parts[`blobs/sha256/${sha256(data)}`] = data;
    return { mediaType, digest: `sha256:${sha256(data)}`, size: Buffer.byteLength(data) };
  };
  const config = add(makeConfig(layers, lies), 'application/vnd.oci.image.config.v1+json');
  const pack = lies.pack ?? (layer => layer);
  const packed = layers.map(layer => add(pack(layer), 'application/vnd.oci.image.layer.v1.tar+gzip'));
  const manifest = JSON.stringify({ schemaVersion: 2, config, layers: packed });
  return { parts, descriptor: add(manifest, 'application/vnd.oci.image.manifest.v1+json') };
}

export function ociParts(manifests: readonly object[], parts: Parts): Parts {
  return {
    'oci-layout': '{"imageLayoutVersion":"1.0.0"}',
    'index.json': JSON.stringify({ schemaVersion: 2, manifests }),
    ...parts,
  };
}

export function simpleOci(layers: readonly Buffer[], lies: Lies = {}): Parts {
  const { parts, descriptor } = ociImage(layers, lies);
  return ociParts([descriptor], parts);
}

export function writeParts(directory: string, parts: Parts): string {
  for (const [name, data] of Object.entries(parts)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), data);
  }
  return directory;
}

export function tarOf(parts: Parts): Buffer {
  return makeTar(Object.entries(parts).map(([name, data]) => file(name, data)));
}
