// What a catalog says about the skills that ship with Skillbox, read once, when it is built (src/catalog/shipped.ts).
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const SOURCE = `
export { findSkills } from './src/catalog/find.ts';
export { shippedFiles } from './src/catalog/shipped.ts';
export { summarise } from './src/dialects/index.ts';
export { openDirectory } from './src/skill/index.ts';
`;

export async function readShipped(root) {
  // Inside the project: its packages are found from there.
  mkdirSync(join(root, 'dist'), { recursive: true });
  const directory = mkdtempSync(join(root, 'dist/shipped-'));
  try {
    const outfile = join(directory, 'read.mjs');
    await build({
      absWorkingDir: root,
      stdin: { contents: SOURCE, resolveDir: root, sourcefile: 'shipped.ts' },
      outfile,
      bundle: true,
      packages: 'external',
      format: 'esm',
      platform: 'node',
      logLevel: 'warning',
    });
    return readAll(await import(pathToFileURL(outfile).href), join(root, 'examples'));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function readAll({ findSkills, openDirectory, shippedFiles, summarise }, examples) {
  const shipped = {};
  for (const path of findSkills(examples)) {
    const folder = openDirectory(path);
    try {
      const { summary } = summarise(folder);
      const files = shippedFiles(folder);
      // Of two with one name only the first is known; the other is read.
      if (summary !== undefined && files !== null) shipped[folder.name] ??= { files, summary };
    } finally {
      folder.close();
    }
  }
  return shipped;
}
