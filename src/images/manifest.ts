import { isObject, type JsonValue } from '../base/index.ts';
import type { Carrier } from './carrier.ts';
import { type Claim, checkClaim, readDocument, requireDigest, requireList, requireObject, textOf } from './document.ts';
import type { ImageLimits } from './limits.ts';
import { refuse } from './refusal.ts';
import { type Chunks, type Meter, Tap, unpack } from './unpack.ts';

/** One layer, to be read once: the bytes are those of its tar, and a digest that differs is thrown at their end. */
export type Layer = { name: string; open(meter: Meter): Chunks };

/** An image as its documents describe it. */
export type ImagePlan = {
  form: 'oci' | 'docker' | 'rootfs';
  /** Of the OCI manifest; null where the form has none. */
  manifest: string | null;
  env: Record<string, string>;
  layers: Layer[];
};

/** What a layer's claims are: of the blob as it lies there (OCI only), and of the tar in it. */
type LayerClaims = { path: string; blob: { digest: string; bytes: number } | null; diffId: string };

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64', ia32: '386' };

export function imageArchitecture(arch: string): string {
  return ARCHITECTURES[arch] ?? arch;
}

export function isOurPlatform(os: JsonValue | undefined, architecture: JsonValue | undefined): boolean {
  return os === 'linux' && architecture === imageArchitecture(process.arch);
}

/** Everything of a config that counts: its platform, its variables, and the digests of the unpacked layers. */
export async function readConfig(
  carrier: Carrier,
  path: string,
  claim: { digest: string; bytes: number | null } | null,
  limits: ImageLimits,
): Promise<{ env: Record<string, string>; diffIds: string[] }> {
  const config = requireObject(await readDocument(carrier, path, claim, limits), path);
  if (!isOurPlatform(config.os, config.architecture)) {
    const found = `${textOf(config.os) || 'unknown'}/${textOf(config.architecture) || 'unknown'}`;
    throw refuse('platform', null, `is for ${found}, and this machine is linux/${imageArchitecture(process.arch)}`);
  }
  const diffIds = requireList(requireObject(config.rootfs, path).diff_ids, path);
  return { env: readEnv(config.config), diffIds: diffIds.map(id => requireDigest(id, path)) };
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

function readEnv(config: JsonValue | undefined): Record<string, string> {
  const list = isObject(config) && Array.isArray(config.Env) ? config.Env : [];
  const env: Record<string, string> = {};
  for (const line of list.slice(0, 256)) {
    const text = textOf(line);
    const [name = ''] = text.split('=', 1);
    const value = text.slice(name.length + 1);
    if (VARIABLE.test(name) && text.length < 32 * 1024 && !text.includes('\0')) env[name] = value;
  }
  return env;
}

export function toLayer(carrier: Carrier, { path, blob, diffId }: LayerClaims): Layer {
  return {
    name: path,
    async *open(meter) {
      // Before anything of it is unpacked: what is not the named blob never reaches a parser.
      if (blob !== null) await verifyBlob(carrier, path, blob, meter.limits);
      const tar = new Tap();
      yield* tar.watch(unpack(path, carrier.read(path), meter));
      checkClaim(path, { digest: diffId, bytes: null }, tar.bytes, tar.digest());
    },
  };
}

async function verifyBlob(carrier: Carrier, path: string, claim: Claim, limits: ImageLimits): Promise<void> {
  const bytes = await carrier.bytes(path);
  // Before hours are spent on its digest: packing makes nothing larger.
  if (bytes > limits.bytes) throw refuse('bytes', path, `has ${bytes} bytes; ${limits.bytes} are the most`);
  if (bytes !== claim.bytes) throw refuse('size', path, `has ${bytes} bytes, and the image says ${claim.bytes}`);
  const tap = new Tap();
  for await (const _chunk of tap.watch(carrier.read(path)));
  checkClaim(path, claim, tap.bytes, tap.digest());
}

export function pairLayers<T>(layers: readonly T[], diffIds: readonly string[]): { layer: T; diffId: string }[] {
  if (layers.length !== diffIds.length)
    throw refuse('manifest', null, `has ${layers.length} layers, and its config names ${diffIds.length}`);
  return layers.map((layer, index) => ({ layer, diffId: diffIds[index] ?? '' }));
}
