// One way of looking at a directory of skills, in a process of its own so that memory and warm-up are its own.
import { readdirSync, statSync } from 'node:fs';
import { activateSkill, buildCatalog, discover, openIndexCache, resolveNames } from '../src/catalog/index.ts';
import { openDirectory } from '../src/skill/index.ts';

const [name = '', directory = '', cacheDirectory = ''] = process.argv.slice(2);
const places = [{ kind: 'named' as const, path: directory }];
const cache = openIndexCache(cacheDirectory, 'bench');

/** What any search must at least do: list every directory and ask about every file. */
function bareWalk(path: string): number {
  let files = 0;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inner = `${path}/${entry.name}`;
    if (entry.isDirectory()) files += bareWalk(inner);
    else {
      statSync(inner);
      files++;
    }
  }
  return files;
}

const CASES: Record<string, () => unknown> = {
  'bare walk': () => bareWalk(directory),
  cold: () => discover(places),
  // The first of these fills the cache, which the bench does not count.
  cached: () => discover(places, { cache }),
};

let timed: () => unknown = CASES[name] ?? (() => undefined);
if (name === 'catalog') {
  const resolution = resolveNames(discover(places), () => 'user');
  timed = () => buildCatalog(resolution, { format: 'xml' });
} else if (name === 'activation') {
  const folders = discover(places)
    .skills.slice(0, 200)
    .map(({ folder }) => folder);
  timed = () => {
    for (const folder of folders) activateSkill(openDirectory(folder));
  };
}
const start = performance.now();
const kept = await timed();
const ms = performance.now() - start;
const rssMb = process.resourceUsage().maxRSS / 1024;
process.stdout.write(JSON.stringify({ ms, rssMb, kept: kept === undefined ? 0 : 1 }));
