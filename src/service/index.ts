/** What a caller can do, wherever Skillbox runs: the contract between every entrance, the server and its client. */
export type * from './guards.ts';
export * from './people.ts';
export * from './runs.ts';
export type * from './service.ts';
export type * from './skills.ts';
