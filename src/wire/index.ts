/** The service contract as JSON on a wire: schemas, and the way there and back. Both sides of HTTP use it. */
export * from './common.ts';
export * from './error.ts';
export * from './execution.ts';
export * from './execution-map.ts';
export * from './guards.ts';
export * from './guards-map.ts';
export * from './people.ts';
export * from './people-map.ts';
export * from './skill.ts';
export * from './skill-map.ts';
export * from './times.ts';
