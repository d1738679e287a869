import { isObject, type JsonValue } from '../base/index.ts';
import type { Carrier } from './carrier.ts';
import { readDocument, requireList, textOf } from './document.ts';
import type { ImageLimits } from './limits.ts';
import { type ImagePlan, pairLayers, readConfig, toLayer } from './manifest.ts';
import { refuse } from './refusal.ts';

const MANIFEST = 'manifest.json';
const HEX = /[0-9a-f]{64}/;

/** `docker save`: a list of images, each with its config and the tars of its layers. Null when the file is none. */
export async function planDocker(carrier: Carrier, wanted: string, limits: ImageLimits): Promise<ImagePlan | null> {
  if (!(await carrier.has(MANIFEST)) || (await carrier.bytes(MANIFEST)) > limits.documentBytes) return null;
  const list = await readDocument(carrier, MANIFEST, null, limits).catch(() => null); // a root file system may hold such a name
  if (!Array.isArray(list) || !list.every(isImage)) return null;
  const image = choose(list, wanted);
  const config = textOf(image.Config);
  // The name is the digest of the content. A writer that names it otherwise claims nothing that could be checked.
  const hex = HEX.exec(config);
  const claim = hex === null ? null : { digest: `sha256:${hex[0]}`, bytes: null };
  const { env, diffIds } = await readConfig(carrier, config, claim, limits);
  const layers = requireList(image.Layers, MANIFEST).map(textOf);
  return {
    form: 'docker',
    manifest: null,
    env,
    layers: pairLayers(layers, diffIds).map(({ layer, diffId }) =>
      toLayer(carrier, { path: layer, blob: null, diffId }),
    ),
  };
}

type Entry = { Config: JsonValue; Layers: JsonValue; RepoTags?: JsonValue };

function isImage(value: JsonValue): value is Entry {
  return isObject(value) && typeof value.Config === 'string' && Array.isArray(value.Layers);
}

function choose(list: readonly Entry[], wanted: string): Entry {
  const tagsOf = (entry: Entry) => (Array.isArray(entry.RepoTags) ? entry.RepoTags.map(textOf) : []);
  const named = list.filter(entry => tagsOf(entry).some(tag => tag === wanted || tag.endsWith(`/${wanted}`)));
  const [first, second] = named.length > 0 ? named : list;
  if (first === undefined) throw refuse('not-an-image', null, 'is an empty archive of docker save');
  if (second !== undefined)
    throw refuse('several', null, `is one of several in the file: ${list.flatMap(tagsOf).join(', ')}`);
  return first;
}
