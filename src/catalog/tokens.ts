import { estimateTokens } from '../base/index.ts';

export const TOKEN_COUNTS = ['estimate', 'exact'] as const;
export type TokenCount = (typeof TOKEN_COUNTS)[number];
export type CountTokens = (text: string) => number;

/**
 * Characters over four, or the count of a real tokenizer (o200k), which takes a third of a second to load. Other models cut
 * text differently, so the exact count is exact for some and a better estimate for the rest.
 */
export async function tokenCounter(kind: TokenCount): Promise<CountTokens> {
  if (kind === 'estimate') return estimateTokens;
  const { countTokens } = await import('gpt-tokenizer');
  // Text of a skill that looks like a control token is text.
  return text => countTokens(text, { disallowedSpecial: new Set() });
}
