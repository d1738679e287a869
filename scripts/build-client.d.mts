import type { BuildResult } from 'esbuild';

export function buildClient(root: string, outfile: string | null): Promise<BuildResult>;
