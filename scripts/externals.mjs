/**
 * Packages that the bundle does not hold: a native program, used only for TypeScript scripts; megabytes of words, for
 * `--tokens exact`; and a native library, for keys in the keyring of the system.
 */
export const EXTERNALS = ['esbuild', 'gpt-tokenizer', '@napi-rs/keyring'];

/** Those of them that a machine may be without. */
export const OPTIONAL = ['@napi-rs/keyring'];
