import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';

/** Where the bucket is, and who asks. */
export type S3Settings = {
  bucket: string;
  region: string;
  /** null: that of AWS in the region. */
  endpoint: string | null;
  /** The same server as callers reach it, in signed links; null when they reach it as we do. */
  publicEndpoint: string | null;
  /** What the keys of all objects begin with: empty, or ends with a slash. */
  prefix: string;
  /** Whether the bucket stands in the path instead of the host name. */
  pathStyle: boolean;
  /** null: as the SDK finds them, in its environment variables, its files, or of the machine. */
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string } | null;
};

/** The library and two clients of it; loaded with the first request, for it takes longer than many a command. */
export type S3 = {
  sdk: typeof import('@aws-sdk/client-s3');
  client: S3Client;
  /** For links: they name the server as callers reach it. */
  publicClient: S3Client;
};

/** `silentMs`: without a byte either way for so long, the server counts as gone. */
export type S3Timing = { connectMs: number; silentMs: number; attempts: number };

export const S3_TIMING: S3Timing = { connectMs: 5_000, silentMs: 30_000, attempts: 3 };

export async function connectS3(settings: S3Settings, timing: S3Timing): Promise<S3> {
  const sdk = await import('@aws-sdk/client-s3');
  const client = new sdk.S3Client(configOf(settings, settings.endpoint, timing));
  const own = settings.publicEndpoint !== null && settings.publicEndpoint !== settings.endpoint;
  const publicClient = own ? new sdk.S3Client(configOf(settings, settings.publicEndpoint, timing)) : client;
  return { sdk, client, publicClient };
}

function configOf(
  { region, pathStyle, credentials }: S3Settings,
  endpoint: string | null,
  { connectMs, silentMs, attempts }: S3Timing,
): S3ClientConfig {
  return {
    region,
    ...(endpoint === null ? {} : { endpoint }),
    ...(credentials === null ? {} : { credentials }),
    forcePathStyle: pathStyle,
    maxAttempts: attempts,
    requestHandler: { connectionTimeout: connectMs, socketTimeout: silentMs },
    // What the SDK adds by itself, most servers other than that of AWS refuse. What we read, we check by its name.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  };
}
