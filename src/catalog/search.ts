import MiniSearch from 'minisearch';

/** What a search looks at; the rest of a skill is not read for it. */
export type Searchable = { name: string; description: string };

// Words that say nothing about a skill: every description says when to use it and for whom.
const EMPTY_WORDS = new Set(
  'a an and any are as at be by can do for from get has have help how i if in into is it its me my need of on or our out please show so some that the their them this to up use used user users wants want was we what when where which who with you your'.split(
    ' ',
  ),
);

/** Queries come from models, and on a server from anybody with a key: more of one is not looked at. */
const MAX_QUERY = 4000;
/** Near misses of a word take its length squared in memory; so long is no word of a name or a description. */
const MAX_FUZZY = 64;

/** The skills that fit the words, best first: whole words before beginnings before near misses, names before descriptions. */
export function searchSkills<T extends Searchable>(skills: readonly T[], query: string): T[] {
  return indexSkills(skills)(query);
}

/** The same for who asks often: the words of the skills are gathered once. */
export function indexSkills<T extends Searchable>(skills: readonly T[]): (query: string) => T[] {
  const index = new MiniSearch<Searchable & { id: number }>({
    fields: ['name', 'description'],
    processTerm: stem,
    searchOptions: {
      boost: { name: 2 },
      prefix: term => term.length > 3,
      fuzzy: term => (term.length > 4 && term.length <= MAX_FUZZY ? 0.2 : false),
      weights: { prefix: 0.4, fuzzy: 0.2 },
    },
  });
  index.addAll(skills.map(({ name, description }, id) => ({ id, name, description })));
  return query => {
    const found = index.search(query.slice(0, MAX_QUERY));
    // Equal scores keep the order in which the skills were given, so that a catalog is the same each time.
    found.sort((a, b) => b.score - a.score || Number(a.id) - Number(b.id));
    return found.flatMap(({ id }) => skills[Number(id)] ?? []);
  };
}

/** `Counts`, `counting` and `count` are one word; so much of English is enough for names and descriptions. */
function stem(term: string): string | null {
  const word = term.normalize('NFKC').toLowerCase();
  if (EMPTY_WORDS.has(word)) return null;
  if (word.length < 5 || !/^[a-z]+$/.test(word)) return word;
  const bare = word
    .replace(/(?:ies)$/, 'y')
    .replace(/(?:sses)$/, 'ss')
    .replace(/(?<![su])s$/, '')
    .replace(/(?:ing|ed)$/, '')
    .replace(/([bdfgmnprt])\1$/, '$1');
  return bare.length < 3 ? word : bare.replace(/e$/, '');
}
