import { randomBytes } from 'node:crypto';
import { it } from 'vitest';
import { openParts } from '../../src/parts.ts';
import { openBlobs, openPostgres } from '../../src/store/index.ts';
import { apiContract } from '../contracts/api.ts';
import { serviceContract } from '../contracts/service.ts';
import { newSchema, noPostgres } from '../support/postgres.ts';
import { realStage } from '../support/real-stage.ts';
import { WRITER } from '../support/record.ts';
import { NO_S3, needsS3, s3Settings } from '../support/s3.ts';
import { serveService } from '../support/served.ts';
import { openService } from '../support/service.ts';
import { NO_SANDBOX, optionsOf } from '../support/skillbox.ts';
import { tempDir, tidy } from '../support/temp.ts';

tidy();
needsS3();

const missing = noPostgres ?? NO_S3 ?? (NO_SANDBOX ? 'bubblewrap is not installed' : null);

/** The service as a fleet has it: rows in PostgreSQL, bytes in a bucket, a key that machines share. */
async function openFleet(tenants: readonly string[]) {
  const schema = await newSchema();
  const data = tempDir('fleet');
  const store = await openPostgres(schema.url, openBlobs({ kind: 's3', s3: await s3Settings() }, data, WRITER));
  const masterKey = { kind: 'text' as const, text: randomBytes(32).toString('hex'), from: 'SKILLBOX_MASTER_KEY' };
  const parts = openParts({ ...optionsOf(data, 'bubblewrap', 0), masterKey }, undefined, store);
  const service = await openService(tenants, { data, parts });
  const close = async () => {
    await service.close();
    await schema.close();
  };
  return { store, service: { ...service, close } };
}

if (missing !== null) it.skip(missing);
else {
  apiContract('PostgreSQL and S3', async () => realStage({ ...(await openFleet(['acme', 'beta'])), links: null }), {
    shots: 4,
  });
  serviceContract('PostgreSQL and S3, over HTTP', async () => {
    const served = await serveService((await openFleet(['one', 'two'])).service);
    return { as: (tenant, who = 'first') => served.clientFor(tenant, who), close: () => served.close() };
  });
}
