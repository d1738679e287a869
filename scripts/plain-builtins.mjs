import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What bundled CommonJS packages call for Node's own modules. */
export const REQUIRE = "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);";

const IMPORT = /\bimport\s*(?:\*\s*as\s+([\w$]+)\s+|([\w$]+)\s+|\{([^}]*)\}\s*)from\s*(["'])(node:[\w/]+)\4;/g;
const LEFT = /\bfrom\s*["']node:/;

/**
 * Turns the imports of Node's own modules into constants. To `import` one, Node touches every name that it has, and `node:fs`
 * alone loads streams, promises and more by that, which most commands never use: a good part of the time of a short one.
 * A file that calls no require() is also spared the making of one.
 */
export function makeBuiltinsPlain(directory) {
  for (const name of readdirSync(directory)) {
    if (!name.endsWith('.js')) continue;
    const path = join(directory, name);
    const whole = readFileSync(path, 'utf8');
    const bare = whole.replace(`${REQUIRE}\n`, '');
    const text = /\brequire\b/.test(bare) ? whole : bare;
    writeFileSync(path, withConstants(text, name));
  }
}

function withConstants(text, name) {
  const made = text.replace(IMPORT, (_found, all, main, names, _quote, from) => {
    const wanted = all ?? main ?? `{${names.replaceAll(/\s+as\s+/g, ':')}}`;
    return `const ${wanted}=process.getBuiltinModule("${from}");`;
  });
  if (LEFT.test(made)) throw new Error(`${name} imports a module of Node in a way that is not known here`);
  return made;
}
