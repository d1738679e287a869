/** Finding skills on disk. */
export { findSkills } from './find.ts';
