import { isObject, type JsonObject, type JsonValue } from '../base/index.ts';
import type { Database } from './database.ts';
import { RowCache } from './row-cache.ts';
import { searchWords } from './search-words.ts';
import { SkillWords } from './skill-words.ts';
import type { KeptHead, KeptSkill, SkillFilter, SkillRow, SkillRows, SkillVersions, SkillWritten } from './skills.ts';
import type { SqliteJournal } from './sqlite-journal.ts';

const TAGS = `(SELECT json_group_array(tag ORDER BY tag) FROM skill_tags t
   WHERE t.tenant = s.tenant AND t.name = s.name AND t.version = s.version) AS tags`;
const HEAD = `s.tenant, s.name, s.version, s.digest, s.sha256, s.bytes, s.dialect, s.description,
   s.published_at AS publishedAt, s.published_by AS publishedBy, s.yanked_at AS yankedAt, s.yanked_reason AS yankedReason,
   ${TAGS}`;
/** A name says most of what a skill is for, its description more than its instructions. */
const WEIGHTS = '10.0, 4.0, 1.0';
/** With null every name fits. By names, because Node 22 cannot give a value to `?3`. */
const FITS_TAG = `iif(:tag IS NULL, 1,
   EXISTS (SELECT 1 FROM skill_tags g WHERE g.tenant = s.tenant AND g.name = s.name AND g.tag = :tag))`;

/** Published skills in SQLite. Rows are never removed, so the words of each are added once and stay. */
export function createSkillRows(
  database: Database,
  journal: SqliteJournal,
  words = new SkillWords(database),
): SkillRows {
  const all = (sql: string, ...values: (string | number | null)[]) => database.prepare(sql).all(...values);
  // Every request about a skill and every run begins with one of these two.
  const skills = new RowCache<KeptSkill | null>(database);
  const heads = new RowCache<KeptHead[]>(database);
  const write = <T>(body: () => T): Promise<T> => {
    // The change itself is made at once; what is waited for is the disk.
    const written = database.write('full', body);
    skills.clear();
    heads.clear();
    return written;
  };
  return {
    publish: async (row, tags, events) =>
      write(() => {
        const written = insert(database, row, words);
        if (written !== 'written') return written;
        for (const tag of tags) setTag(database, { ...row, tag }, row.version);
        journal.add(events);
        return written;
      }),
    get: async (tenant, name, version) =>
      skills.get([tenant, name, version], () => {
        const [row] = all(
          `SELECT ${HEAD}, s.manifest FROM skills s WHERE s.tenant = ? AND s.name = ? AND s.version = ?`,
          tenant,
          name,
          version,
        );
        return row === undefined ? null : toSkill(row);
      }),
    versions: async (tenant, name) =>
      heads.get([tenant, name], () =>
        all(`SELECT ${HEAD} FROM skills s WHERE s.tenant = ? AND s.name = ?`, tenant, name).map(toHead),
      ),
    heads: async (tenant, keys) =>
      all(
        `SELECT ${HEAD} FROM json_each(?) k
         JOIN skills s ON s.tenant = ? AND s.name = k.value ->> '$.name' AND s.version = k.value ->> '$.version'`,
        JSON.stringify(keys.map(({ name, version }) => ({ name, version }))),
        tenant,
      ).map(toHead),
    async names({ tenant, tag }, limit, after) {
      const found = database
        .prepare(
          `SELECT DISTINCT s.name FROM skills s WHERE s.tenant = :tenant AND s.name > :after AND ${FITS_TAG}
           ORDER BY s.name LIMIT :limit`,
        )
        .all({ tenant, after: after ?? '', tag, limit });
      return versionsOf(database, tenant, found.map(nameIn));
    },
    search: async (filter, query, limit) =>
      versionsOf(database, filter.tenant, findNames(database, filter, query, limit, words.isUsable())),
    yank: async ({ tenant, name, version }, yanked, events) =>
      write(() => {
        const { changes } = database
          .prepare('UPDATE skills SET yanked_at = ?, yanked_reason = ? WHERE tenant = ? AND name = ? AND version = ?')
          .run(yanked?.at ?? null, yanked?.reason ?? null, tenant, name, version);
        if (Number(changes) === 0) return false;
        journal.add(events);
        return true;
      }),
    tag: async (key, version, events) =>
      write(() => {
        if (!(version === null ? dropTag(database, key) : setTag(database, key, version))) return false;
        journal.add(events);
        return true;
      }),
    kept: async sha256s =>
      all(
        'SELECT DISTINCT k.value AS sha256 FROM json_each(?) k JOIN skills s ON s.sha256 = k.value',
        JSON.stringify(sha256s),
      ).map(row => String(row.sha256)),
    async usage(tenant) {
      const [row] = all(
        'SELECT count(DISTINCT name) AS names, coalesce(sum(bytes + unpacked), 0) AS bytes FROM skills WHERE tenant = ?',
        tenant,
      );
      return { names: Number(row?.names), bytes: Number(row?.bytes) };
    },
  };
}

function insert(database: Database, row: SkillRow, words: SkillWords): SkillWritten {
  const there = database
    .prepare('SELECT digest FROM skills WHERE tenant = ? AND name = ? AND version = ?')
    .get(row.tenant, row.name, row.version);
  if (there !== undefined) return there.digest === row.digest ? 'same' : 'taken';
  const hasWords = words.prepare();
  const { lastInsertRowid } = database
    .prepare(
      `INSERT INTO skills (tenant, name, version, digest, sha256, bytes, dialect, description, published_at, published_by,
         yanked_at, yanked_reason, manifest, text, unpacked) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      row.tenant,
      row.name,
      row.version,
      row.digest,
      row.archive.sha256,
      row.archive.bytes,
      row.dialect,
      row.description,
      row.publishedAt,
      row.publishedBy,
      row.yanked?.at ?? null,
      row.yanked?.reason ?? null,
      JSON.stringify(row.manifest),
      row.text,
      row.unpacked,
    );
  if (hasWords)
    database
      .prepare('INSERT INTO skill_words (rowid, name, description, text) VALUES (?, ?, ?, ?)')
      .run(lastInsertRowid, row.name, row.description, row.text);
  return 'written';
}

type TagKey = { tenant: string; name: string; tag: string };

function setTag(database: Database, { tenant, name, tag }: TagKey, version: string): boolean {
  const { changes } = database
    .prepare(
      `INSERT OR REPLACE INTO skill_tags (tenant, name, tag, version)
       SELECT tenant, name, ?, version FROM skills WHERE tenant = ? AND name = ? AND version = ?`,
    )
    .run(tag, tenant, name, version);
  return Number(changes) > 0;
}

function dropTag(database: Database, { tenant, name, tag }: TagKey): boolean {
  const { changes } = database
    .prepare('DELETE FROM skill_tags WHERE tenant = ? AND name = ? AND tag = ?')
    .run(tenant, name, tag);
  return Number(changes) > 0;
}

/** Any of the words, or what begins with one; whoever has more of them, and rarer ones, comes first. */
const BY_WORDS = `SELECT rowid AS id, bm25(skill_words, ${WEIGHTS}) AS score FROM skill_words WHERE skill_words MATCH :asked`;
/** Where there are no words: any of them anywhere; whoever has more of them, and in the better place, comes first. */
const BY_TEXT = `SELECT id, -score AS score FROM (
   SELECT w.id, sum(10 * (instr(lower(w.name), k.value) > 0) + 4 * (instr(lower(w.description), k.value) > 0)
     + (instr(lower(w.text), k.value) > 0)) AS score
   FROM skills w, json_each(:asked) k WHERE w.tenant = :tenant GROUP BY w.id) WHERE score > 0`;

function findNames(
  database: Database,
  { tenant, tag }: SkillFilter,
  query: string,
  limit: number,
  byWords: boolean,
): string[] {
  const words = searchWords(query);
  if (words.length === 0) return [];
  const asked = byWords ? words.map(word => `"${word}"*`).join(' OR ') : JSON.stringify(words);
  const rows = database
    .prepare(
      `WITH found AS MATERIALIZED (${byWords ? BY_WORDS : BY_TEXT})
       SELECT s.name FROM found JOIN skills s ON s.id = found.id
       WHERE s.tenant = :tenant AND s.yanked_at IS NULL AND ${FITS_TAG}
       GROUP BY s.name ORDER BY min(found.score), s.name LIMIT :limit`,
    )
    .all({ asked, tenant, tag, limit });
  return rows.map(nameIn);
}

/** In the order of the names. */
function versionsOf(database: Database, tenant: string, names: readonly string[]): SkillVersions[] {
  const found = new Map(names.map(name => [name, { name, versions: [] } as SkillVersions]));
  const rows = database
    .prepare(
      `SELECT s.name, s.version, s.yanked_at IS NOT NULL AS yanked, ${TAGS} FROM skills s
       WHERE s.tenant = ? AND s.name IN (SELECT value FROM json_each(?))`,
    )
    .all(tenant, JSON.stringify(names));
  for (const row of rows) {
    const one = { version: String(row.version), yanked: row.yanked === 1, tags: tagsIn(row) };
    found.get(String(row.name))?.versions.push(one);
  }
  return [...found.values()];
}

type Row = Record<string, unknown>;

function toHead(row: Row): KeptHead {
  return {
    tenant: String(row.tenant),
    name: String(row.name),
    version: String(row.version),
    digest: String(row.digest),
    archive: { sha256: String(row.sha256), bytes: Number(row.bytes) },
    dialect: String(row.dialect),
    description: String(row.description),
    publishedAt: Number(row.publishedAt),
    publishedBy: String(row.publishedBy),
    yanked: row.yankedAt === null ? null : { at: Number(row.yankedAt), reason: reasonIn(row) },
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
  const tags: unknown = JSON.parse(String(row.tags));
  return Array.isArray(tags) ? tags.map(String) : [];
}

function reasonIn({ yankedReason }: Row): string {
  return typeof yankedReason === 'string' ? yankedReason : '';
}

function nameIn(row: Row): string {
  return String(row.name);
}
