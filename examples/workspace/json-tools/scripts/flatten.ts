import { readFileSync } from 'node:fs';

enum Kind {
  Leaf = 'leaf',
  Branch = 'branch',
}

function walk(value: unknown, path: string): void {
  const kind = typeof value === 'object' && value !== null ? Kind.Branch : Kind.Leaf;
  if (kind === Kind.Leaf) {
    console.log(`${path || '.'} = ${JSON.stringify(value)}`);
    return;
  }
  for (const [key, inner] of Object.entries(value as Record<string, unknown>)) walk(inner, path ? `${path}.${key}` : key);
}

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error('usage: flatten.ts FILE');
  process.exit(2);
}
walk(JSON.parse(readFileSync(file, 'utf8')), '');
