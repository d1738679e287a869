import fc from 'fast-check';
import { afterAll } from 'vitest';
import { removeTemp } from '../temp.ts';

// The same cases everywhere, so that a red run is the change's doing. SKILLBOX_SEED=random, or a number, looks elsewhere.
const seed = process.env.SKILLBOX_SEED ?? '20260101';
if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) });

afterAll(removeTemp);
