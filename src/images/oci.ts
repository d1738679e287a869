import { isObject, type JsonObject, type JsonValue } from '../base/index.ts';
import type { Carrier } from './carrier.ts';
import { readDocument, requireDigest, requireList, requireObject, textOf } from './document.ts';
import type { ImageLimits } from './limits.ts';
import { type ImagePlan, imageArchitecture, isOurPlatform, pairLayers, readConfig, toLayer } from './manifest.ts';
import { refuse } from './refusal.ts';

const MAX_NESTING = 4;
const MAX_MANIFESTS = 256;
const INDEX_TYPES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];

type Descriptor = { digest: string; bytes: number; tag: string; platform: JsonObject | null; isIndex: boolean };

export async function isOci(carrier: Carrier): Promise<boolean> {
  return (await carrier.has('oci-layout')) && (await carrier.has('index.json'));
}

/** index.json → the one manifest for this machine → its config and layers. */
export async function planOci(carrier: Carrier, wanted: string, limits: ImageLimits): Promise<ImagePlan> {
  const index = requireObject(await readDocument(carrier, 'index.json', null, limits), 'index.json');
  const found = await findManifests(carrier, index, limits);
  const { digest, bytes } = choose(found, wanted);
  const path = blobPath(digest);
  const manifest = requireObject(await readDocument(carrier, path, { digest, bytes }, limits), path);
  const config = readDescriptor(manifest.config, path);
  const { env, diffIds } = await readConfig(carrier, blobPath(config.digest), config, limits);
  const layers = requireList(manifest.layers, path).map(layer => readDescriptor(layer, path));
  return {
    form: 'oci',
    manifest: digest,
    env,
    layers: pairLayers(layers, diffIds).map(({ layer, diffId }) =>
      toLayer(carrier, { path: blobPath(layer.digest), blob: layer, diffId }),
    ),
  };
}

const blobPath = (digest: string) => `blobs/sha256/${digest.slice('sha256:'.length)}`;

function readDescriptor(value: JsonValue | undefined, where: string): Descriptor {
  const descriptor = requireObject(value, where);
  const { size, platform, annotations, mediaType } = descriptor;
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    throw refuse('manifest', where, 'has a part without a size');
  const notes = isObject(annotations) ? annotations : {};
  return {
    digest: requireDigest(descriptor.digest, where),
    bytes: size,
    tag: textOf(notes['io.containerd.image.name']) || textOf(notes['org.opencontainers.image.ref.name']),
    platform: isObject(platform) ? platform : null,
    isIndex: INDEX_TYPES.includes(textOf(mediaType)),
  };
}

/** Every manifest that may be meant. An index may hold indexes: bounded, because one could hold itself. */
async function findManifests(carrier: Carrier, top: JsonObject, limits: ImageLimits): Promise<Descriptor[]> {
  const found: Descriptor[] = [];
  const visit = async (index: JsonObject, where: string, tag: string, depth: number): Promise<void> => {
    for (const value of requireList(index.manifests, where)) {
      const descriptor = readDescriptor(value, where);
      const named = { ...descriptor, tag: descriptor.tag || tag };
      if (found.length >= MAX_MANIFESTS || depth > MAX_NESTING)
        throw refuse('manifest', where, 'leads to too many manifests');
      if (!named.isIndex) found.push(named);
      else {
        const path = blobPath(named.digest);
        await visit(requireObject(await readDocument(carrier, path, named, limits), path), path, named.tag, depth + 1);
      }
    }
  };
  await visit(top, 'index.json', '', 0);
  return found;
}

function choose(found: readonly Descriptor[], wanted: string): Descriptor {
  // A manifest without a platform says it in its config, where it is checked again.
  const ours = found.filter(({ platform }) => platform === null || isOurPlatform(platform.os, platform.architecture));
  const named = ours.filter(({ tag }) => tag !== '' && (tag === wanted || tag.endsWith(`/${wanted}`)));
  const [first, ...others] = named.length > 0 ? named : ours;
  if (first === undefined) {
    const all = found.map(({ platform }) => `${textOf(platform?.os)}/${textOf(platform?.architecture)}`);
    throw refuse(
      'platform',
      null,
      `has nothing for linux/${imageArchitecture(process.arch)}${all.length > 0 ? `, only for ${all.slice(0, 8).join(', ')}` : ''}`,
    );
  }
  if (others.some(({ digest }) => digest !== first.digest))
    throw refuse(
      'several',
      null,
      `is one of several in the file: ${[first, ...others].map(({ tag, digest }) => tag || digest).join(', ')}`,
    );
  return first;
}
