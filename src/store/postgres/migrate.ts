import { SkillboxError } from '../../base/index.ts';
import type { Postgres, Session } from './database.ts';
import { MIGRATIONS } from './migrations.ts';

/** Under a lock of its own, so that processes that start at once migrate once; the others wait, and find it done. */
const LOCK = 0x534b42; // one number for all stores; the second is the schema's

export async function migrate(database: Postgres): Promise<void> {
  await checkEncoding(database);
  if ((await findVersion(database)) === MIGRATIONS.length) return;
  await database.write('full', async session => {
    await session.script(`SELECT pg_advisory_xact_lock(${LOCK}, hashtext(current_schema()))`);
    const found = await findVersion(session);
    refuseNewer(found);
    for (const sql of MIGRATIONS.slice(found)) await session.script(sql);
    await note(session, MIGRATIONS.length);
  });
}

/** Which version is there; 0 for an empty schema. */
async function findVersion(session: Pick<Session, 'rows'>): Promise<number> {
  const [there] = await session.rows("SELECT to_regclass('skillbox_schema') IS NOT NULL AS found");
  if (there?.found !== true) return 0;
  const [row] = await session.rows('SELECT version FROM skillbox_schema');
  const version = Number(row?.version ?? 0);
  refuseNewer(version);
  return version;
}

function refuseNewer(version: number): void {
  if (version > MIGRATIONS.length)
    throw new SkillboxError(
      'UNWRITABLE',
      `the store has version ${version}; this Skillbox knows ${MIGRATIONS.length}`,
      {
        hint: 'Use the newer Skillbox that made it, or another database.',
      },
    );
}

async function note(session: Session, version: number): Promise<void> {
  await session.script('CREATE TABLE IF NOT EXISTS skillbox_schema (version integer NOT NULL)');
  if ((await session.change('UPDATE skillbox_schema SET version = $1', [version])) === 0)
    await session.change('INSERT INTO skillbox_schema (version) VALUES ($1)', [version]);
}

/** In any other encoding some texts could not be kept, and would only be missed one day. */
async function checkEncoding(session: Pick<Session, 'rows'>): Promise<void> {
  const [row] = await session.rows("SELECT current_setting('server_encoding') AS encoding, current_schema() AS schema");
  if (row?.encoding !== 'UTF8')
    throw new SkillboxError('CONFIG_INVALID', `the database has the encoding ${String(row?.encoding)}, not UTF8`, {
      hint: "Make another one: CREATE DATABASE skillbox ENCODING 'UTF8' TEMPLATE template0.",
    });
  if (row.schema === null)
    throw new SkillboxError('CONFIG_INVALID', 'the database has no schema of the name that its search_path says', {
      hint: 'Create the schema, or correct `options` in the URL.',
    });
}
