import { searchWords } from '../search-words.ts';
import type { SkillFilter } from '../skills.ts';
import type { Session } from './database.ts';

/** What is behind it is not searched; an index over more would be refused. */
const MAX_TEXT = 100_000;
/** Longer ones are cut, as those of a query are. */
const MAX_WORD = 64;
const MARKS = /\p{M}/gu;

/** The words of a text as they are indexed: whatever language the database was made for, what is a word is said here. */
export function wordsOf(text: string): string {
  const plain = text.slice(0, MAX_TEXT).normalize('NFKD').replace(MARKS, '').toLowerCase();
  return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).map(word => word.slice(0, MAX_WORD).toWellFormed()).join(' ');
}

/**
 * Any of the words, or what begins with one. A word counts for more the fewer skills have it, and where it stands: a name
 * says most of what a skill is for, its description more than its instructions.
 */
const FIND = `
  WITH asked AS (SELECT at, to_tsquery('skill_words', word) AS query FROM unnest($2::text[]) WITH ORDINALITY AS w (word, at)),
  fit AS MATERIALIZED (
    SELECT asked.at, s.name, s.version, ts_rank('{0.1, 0.1, 0.4, 1.0}', s.words, asked.query) AS weight
    FROM asked JOIN skills s ON s.words @@ asked.query
    WHERE s.tenant = $1 AND s.yanked_at IS NULL AND ($3::text IS NULL OR EXISTS (
      SELECT 1 FROM skill_tags g WHERE g.tenant = s.tenant AND g.name = s.name AND g.tag = $3))),
  rare AS (
    SELECT at, ln(1 + (SELECT count(*) FROM skills WHERE tenant = $1) / count(*)::float8) AS worth FROM fit GROUP BY at),
  scored AS (
    SELECT name, version, sum(weight * worth) AS score FROM fit JOIN rare USING (at) GROUP BY name, version)
  SELECT name FROM scored GROUP BY name ORDER BY max(score) DESC, name LIMIT $4`;

export async function findNames(
  session: Pick<Session, 'rows'>,
  { tenant, tag }: SkillFilter,
  query: string,
  limit: number,
): Promise<string[]> {
  // Letters and digits only, so that nothing in them is taken for an operator.
  const words = searchWords(query)
    .map(wordsOf)
    .filter(word => word !== '');
  if (words.length === 0) return [];
  const rows = await session.rows(FIND, [tenant, words.map(word => `'${word}':*`), tag, limit]);
  return rows.map(row => String(row.name));
}
