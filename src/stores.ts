import { readFileSync } from 'node:fs';
import { SkillboxError } from './base/index.ts';
import type { Config } from './config/index.ts';
import type { BlobSettings, Store, StoreChoice, Writer } from './store/index.ts';

type Sign = Extract<BlobSettings, { kind: 'disk' }>['sign'];

/** The store that the configuration names: SQLite and a folder, or PostgreSQL and S3, or one of each. */
export async function openConfiguredStore(config: Config, writer: Writer, sign: Sign = null): Promise<Store> {
  // Which one it is, is asked by those as well who open none.
  const { openChosenStore } = await import('./store/index.ts');
  return openChosenStore(storeChoice(config, sign), config.get('data.directory'), writer);
}

export function storeChoice(config: Config, sign: Sign = null): StoreChoice {
  const blobs = blobSettings(config, sign);
  const database = config.get('store.postgres.url');
  if (database === null) return { kind: 'embedded', blobs };
  const authority = config.get('store.postgres.ca');
  return {
    kind: 'postgres',
    url: () => database.read(),
    settings: {
      connections: config.get('store.postgres.pool'),
      statementTimeoutMs: config.get('store.postgres.statementTimeout'),
      schema: config.get('store.postgres.schema'),
      ca: authority === null ? null : readAuthority(authority),
    },
    blobs,
  };
}

function readAuthority(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new SkillboxError('CONFIG_INVALID', `the certificate of the database's authority, ${path}, cannot be read`, {
      hint: 'Correct `store.postgres.ca`.',
      cause,
    });
  }
}

function blobSettings(config: Config, sign: Sign): BlobSettings {
  const bucket = config.get('store.s3.bucket');
  if (bucket === null) return { kind: 'disk', sign };
  const accessKeyId = config.get('store.s3.accessKeyId');
  const secretAccessKey = config.get('store.s3.secretAccessKey');
  return {
    kind: 's3',
    s3: {
      bucket,
      region: config.get('store.s3.region'),
      endpoint: config.get('store.s3.endpoint'),
      publicEndpoint: config.get('store.s3.publicEndpoint'),
      prefix: config.get('store.s3.prefix') ?? '',
      pathStyle: config.get('store.s3.pathStyle'),
      credentials:
        accessKeyId === null || secretAccessKey === null
          ? null
          : { accessKeyId, secretAccessKey: secretAccessKey.read() },
    },
  };
}
