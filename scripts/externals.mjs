/** Packages that the bundle does not hold: a native program, used only for TypeScript scripts; and megabytes of words, for `--tokens exact`. */
export const EXTERNALS = ['esbuild', 'gpt-tokenizer'];
