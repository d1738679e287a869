import type { Config } from './config/index.ts';
import { type BlobSettings, openBlobs, openPostgres, openStore, type Store, type Writer } from './store/index.ts';

/** The store that the configuration names: SQLite and a folder, or PostgreSQL and S3, or one of each. */
export async function openConfiguredStore(
  config: Config,
  writer: Writer,
  sign: Extract<BlobSettings, { kind: 'disk' }>['sign'] = null,
): Promise<Store> {
  const directory = config.get('data.directory');
  const blobs = blobSettings(config, sign);
  const database = config.get('store.postgres.url');
  if (database === null) return openStore(directory, writer, blobs);
  return openPostgres(database.read(), openBlobs(blobs, directory, writer), {
    connections: config.get('store.postgres.pool'),
    statementTimeoutMs: config.get('store.postgres.statementTimeout'),
  });
}

function blobSettings(config: Config, sign: Extract<BlobSettings, { kind: 'disk' }>['sign']): BlobSettings {
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
