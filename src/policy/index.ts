/** What may run, with what, and who must be asked. */
export * from './policy.ts';
