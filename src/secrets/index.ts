/** Secrets that skills may use and never hold: the vault, what providers are, tokens, and the net over everything printed. */
export {};
