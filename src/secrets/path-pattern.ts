/** What a segment may hold as it stands: what needs encoding could be read in two ways. */
const LITERAL = /^[A-Za-z0-9._~!$&'()+,=:@-]+$/;
const MAX_LENGTH = 512;
const MAX_SEGMENTS = 32;

/**
 * Why a text is no path pattern; null when it is one. Literal segments, `*` for one segment, `**` at the end for one or more.
 * Whatever the broker would refuse in a path cannot stand in a pattern either, because it could never match.
 */
export function faultOfPattern(pattern: string): string | null {
  if (!pattern.startsWith('/')) return 'it does not begin with a slash';
  if (pattern.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`;
  const segments = pattern.slice(1).split('/');
  if (segments.length > MAX_SEGMENTS) return `it has more than ${MAX_SEGMENTS} segments`;
  for (const [index, segment] of segments.entries()) {
    const fault = faultOfSegment(segment, index === segments.length - 1, segments.length === 1);
    if (fault !== null) return fault;
  }
  return null;
}

function faultOfSegment(segment: string, last: boolean, only: boolean): string | null {
  if (segment === '*') return null;
  if (segment === '**') return last && !only ? null : only ? 'it stands for every path' : '** stands before the end';
  if (segment === '') return only ? null : 'it holds an empty segment';
  if (segment === '.' || segment === '..') return 'it holds a dot segment';
  if (segment.includes('*')) return '* is a whole segment or none';
  return LITERAL.test(segment) ? null : 'it holds a character that must be encoded';
}
