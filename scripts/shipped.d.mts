import type { Shipped } from '../src/catalog/shipped.ts';

export function readShipped(root: string): Promise<Shipped>;
