import { SkillboxError } from '../../base/index.ts';
import { type Postgres, requireName, type Session } from './database.ts';
import { MIGRATIONS } from './migrations.ts';

/** Until the end of the transaction, whatever schema of the database it is about. */
const LOCK = 'SELECT pg_advisory_xact_lock(1397441090, 1)';

/** Under a lock, so that processes that start at once migrate once; the others wait, and find it done. */
export async function migrate(
  database: Postgres,
  schema: string | null,
  migrations: readonly string[] = MIGRATIONS,
): Promise<void> {
  await checkDatabase(database, schema);
  if ((await findVersion(database, migrations)) === migrations.length) return;
  await database.write('full', async session => {
    await session.script(LOCK);
    const found = await findVersion(session, migrations);
    for (const sql of migrations.slice(found)) await session.script(sql);
    await note(session, migrations.length);
  });
}

/** Which version is there; 0 for an empty schema. */
async function findVersion(session: Pick<Session, 'rows'>, migrations: readonly string[]): Promise<number> {
  // Asked of the table of tables: what a connection remembers of names may be older than the lock it waited for.
  const [there] = await session.rows(
    `SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relname = 'skillbox_schema' AND n.nspname = current_schema()) AS found`,
  );
  if (there?.found !== true) return 0;
  const [row] = await session.rows('SELECT version FROM skillbox_schema');
  const version = Number(row?.version ?? 0);
  if (version > migrations.length)
    throw new SkillboxError(
      'UNWRITABLE',
      `the store has version ${version}; this Skillbox knows ${migrations.length}`,
      {
        hint: 'Use the newer Skillbox that made it, or another database.',
      },
    );
  return version;
}

async function note(session: Session, version: number): Promise<void> {
  await session.script('CREATE TABLE IF NOT EXISTS skillbox_schema (version integer NOT NULL)');
  if ((await session.change('UPDATE skillbox_schema SET version = $1', [version])) === 0)
    await session.change('INSERT INTO skillbox_schema (version) VALUES ($1)', [version]);
}

async function checkDatabase(database: Postgres, schema: string | null): Promise<void> {
  const [row] = await database.rows(
    "SELECT current_setting('server_encoding') AS encoding, current_schema() IS NOT NULL AS found",
  );
  // In any other encoding some texts could not be kept, and would only be missed one day.
  if (row?.encoding !== 'UTF8')
    throw new SkillboxError('CONFIG_INVALID', `the database has the encoding ${String(row?.encoding)}, not UTF8`, {
      hint: "Make another one: CREATE DATABASE skillbox ENCODING 'UTF8' TEMPLATE template0.",
    });
  if (row.found === true) return;
  if (schema === null)
    throw new SkillboxError('CONFIG_INVALID', 'the database has no schema of the name that its search_path says', {
      hint: 'Create the schema, or correct `options` in the URL.',
    });
  await database.write('full', async session => {
    await session.script(LOCK);
    await session.script(`CREATE SCHEMA IF NOT EXISTS ${requireName(schema)}`);
  });
}
