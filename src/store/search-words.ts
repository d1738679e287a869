/** A query has few words; what is beyond that is somebody's attempt to keep us busy. */
const MAX_WORDS = 16;
const MAX_WORD = 64;
const MAX_QUERY = 4096;

/** The words of what somebody typed, in lower case: nothing but letters, digits and marks, so that no search takes them for more. */
export function searchWords(query: string): string[] {
  const found =
    query
      .slice(0, MAX_QUERY)
      .toLowerCase()
      .match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? [];
  return [...new Set(found.map(word => word.slice(0, MAX_WORD).toWellFormed()))].slice(0, MAX_WORDS);
}
