import { isObject, type JsonObject, type JsonValue } from '../../base/index.ts';
import type { KeptHead, KeptSkill, SkillRow, SkillRows, SkillVersions, SkillWritten } from '../skills.ts';
import type { Postgres, Row, Session } from './database.ts';
import type { PostgresJournal } from './journal.ts';
import { findNames, wordsOf } from './skill-search.ts';

const TAGS = `ARRAY(SELECT tag FROM skill_tags t
   WHERE t.tenant = s.tenant AND t.name = s.name AND t.version = s.version ORDER BY tag)::text[] AS tags`;
const HEAD = `s.tenant, s.name, s.version, s.digest, s.sha256, s.bytes, s.dialect, s.description, s.published_at,
   s.published_by, s.yanked_at, s.yanked_reason, ${TAGS}`;

/** Published skills in PostgreSQL. */
export function createSkillRows(database: Postgres, journal: PostgresJournal): SkillRows {
  return {
    publish: (row, tags, events) =>
      database.write('full', async session => {
        const written = await insert(session, row);
        if (written !== 'written') return written;
        for (const tag of tags) await setTag(session, { ...row, tag }, row.version);
        await journal.add(session, events);
        return written;
      }),
    async get(tenant, name, version) {
      const [row] = await database.rows(
        `SELECT ${HEAD}, s.manifest FROM skills s WHERE s.tenant = $1 AND s.name = $2 AND s.version = $3`,
        [tenant, name, version],
      );
      return row === undefined ? null : toSkill(row);
    },
    async versions(tenant, name) {
      const rows = await database.rows(`SELECT ${HEAD} FROM skills s WHERE s.tenant = $1 AND s.name = $2`, [
        tenant,
        name,
      ]);
      return rows.map(toHead);
    },
    async heads(tenant, keys) {
      const rows = await database.rows(
        `SELECT ${HEAD} FROM (SELECT DISTINCT * FROM unnest($2::text[], $3::text[])) AS k (name, version)
         JOIN skills s ON s.tenant = $1 AND s.name = k.name AND s.version = k.version`,
        [tenant, keys.map(({ name }) => name), keys.map(({ version }) => version)],
      );
      return rows.map(toHead);
    },
    async names({ tenant, tag }, limit, after) {
      const rows = await database.rows(
        `SELECT DISTINCT s.name FROM skills s WHERE s.tenant = $1 AND s.name > $2 AND ($3::text IS NULL OR
           EXISTS (SELECT 1 FROM skill_tags g WHERE g.tenant = s.tenant AND g.name = s.name AND g.tag = $3))
         ORDER BY s.name LIMIT $4`,
        [tenant, after ?? '', tag, limit],
      );
      return versionsOf(database, tenant, rows.map(nameIn));
    },
    search: async (filter, query, limit) =>
      versionsOf(database, filter.tenant, await findNames(database, filter, query, limit)),
    yank: ({ tenant, name, version }, yanked, events) =>
      database.write('full', async session => {
        const changed = await session.change(
          'UPDATE skills SET yanked_at = $4, yanked_reason = $5 WHERE tenant = $1 AND name = $2 AND version = $3',
          [tenant, name, version, yanked?.at ?? null, yanked?.reason ?? null],
        );
        if (changed === 0) return false;
        await journal.add(session, events);
        return true;
      }),
    tag: (key, version, events) =>
      database.write('full', async session => {
        if (!(await (version === null ? dropTag(session, key) : setTag(session, key, version)))) return false;
        await journal.add(session, events);
        return true;
      }),
    async kept(sha256s) {
      const rows = await database.rows('SELECT DISTINCT sha256 FROM skills WHERE sha256 = ANY ($1)', [sha256s]);
      return rows.map(row => String(row.sha256));
    },
    async usage(tenant) {
      const [row] = await database.rows(
        'SELECT count(DISTINCT name) AS names, coalesce(sum(bytes + unpacked), 0)::bigint AS bytes FROM skills WHERE tenant = $1',
        [tenant],
      );
      return { names: Number(row?.names), bytes: Number(row?.bytes) };
    },
  };
}

/** Of those who publish the same version at once, the others wait here for the first, and then find what it wrote. */
async function insert(session: Session, row: SkillRow): Promise<SkillWritten> {
  const { tenant, name, version, digest, archive, dialect, description, publishedAt, publishedBy, yanked } = row;
  const made = await session.change(
    `INSERT INTO skills (tenant, name, version, digest, sha256, bytes, dialect, description, published_at, published_by,
       yanked_at, yanked_reason, manifest, text, words, unpacked)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
       setweight(to_tsvector('skill_words', $15), 'A') || setweight(to_tsvector('skill_words', $16), 'B') ||
       setweight(to_tsvector('skill_words', $17), 'D'), $18)
     ON CONFLICT (tenant, name, version) DO NOTHING`,
    [
      tenant,
      name,
      version,
      digest,
      archive.sha256,
      archive.bytes,
      dialect,
      description,
      publishedAt,
      publishedBy,
      yanked?.at ?? null,
      yanked?.reason ?? null,
      JSON.stringify(row.manifest),
      row.text,
      wordsOf(name),
      wordsOf(description),
      wordsOf(row.text),
      row.unpacked,
    ],
  );
  if (made === 1) return 'written';
  const [there] = await session.rows('SELECT digest FROM skills WHERE tenant = $1 AND name = $2 AND version = $3', [
    tenant,
    name,
    version,
  ]);
  return there?.digest === digest ? 'same' : 'taken';
}

type TagKey = { tenant: string; name: string; tag: string };

async function setTag(session: Session, { tenant, name, tag }: TagKey, version: string): Promise<boolean> {
  const changed = await session.change(
    `INSERT INTO skill_tags (tenant, name, tag, version)
     SELECT tenant, name, $3, version FROM skills WHERE tenant = $1 AND name = $2 AND version = $4
     ON CONFLICT (tenant, name, tag) DO UPDATE SET version = excluded.version`,
    [tenant, name, tag, version],
  );
  return changed > 0;
}

async function dropTag(session: Session, { tenant, name, tag }: TagKey): Promise<boolean> {
  const changed = await session.change('DELETE FROM skill_tags WHERE tenant = $1 AND name = $2 AND tag = $3', [
    tenant,
    name,
    tag,
  ]);
  return changed > 0;
}

/** In the order of the names. */
async function versionsOf(
  session: Pick<Session, 'rows'>,
  tenant: string,
  names: readonly string[],
): Promise<SkillVersions[]> {
  const found = new Map(names.map(name => [name, { name, versions: [] } as SkillVersions]));
  const rows = await session.rows(
    `SELECT s.name, s.version, s.yanked_at, ${TAGS} FROM skills s WHERE s.tenant = $1 AND s.name = ANY ($2)`,
    [tenant, names],
  );
  for (const row of rows) {
    const one = { version: String(row.version), yanked: row.yanked_at !== null, tags: tagsIn(row) };
    found.get(nameIn(row))?.versions.push(one);
  }
  return [...found.values()];
}

function toHead(row: Row): KeptHead {
  return {
    tenant: String(row.tenant),
    name: String(row.name),
    version: String(row.version),
    digest: String(row.digest),
    archive: { sha256: String(row.sha256), bytes: Number(row.bytes) },
    dialect: String(row.dialect),
    description: String(row.description),
    publishedAt: Number(row.published_at),
    publishedBy: String(row.published_by),
    yanked: row.yanked_at === null ? null : { at: Number(row.yanked_at), reason: String(row.yanked_reason ?? '') },
    tags: tagsIn(row),
  };
}

function toSkill(row: Row): KeptSkill {
  return { ...toHead(row), manifest: manifestIn(row) };
}

function manifestIn(row: Row): JsonObject {
  const manifest: JsonValue = JSON.parse(String(row.manifest));
  return isObject(manifest) ? manifest : {};
}

function tagsIn(row: Row): string[] {
  return Array.isArray(row.tags) ? row.tags.map(String) : [];
}

function nameIn(row: Row): string {
  return String(row.name);
}
