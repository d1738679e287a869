const PACKAGE = /^(?:@[a-z0-9-]+\/)?[a-z][a-z0-9-]*$/;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/**
 * In a bundle that is split, esbuild gives a CommonJS package that is loaded on demand (`await import('x')`) a default export
 * and nothing else, while Node gives it names as well. So every package that is loaded on demand gets the names that Node gives.
 */
export const namedExports = {
  name: 'named-exports',
  setup(build) {
    const { external = [] } = build.initialOptions;
    build.onResolve({ filter: PACKAGE }, ({ path, kind, resolveDir }) => {
      const wanted = kind === 'dynamic-import' && !external.includes(path);
      return wanted ? { path, namespace: 'named-exports', pluginData: resolveDir } : undefined;
    });
    build.onLoad({ filter: /.*/, namespace: 'named-exports' }, async ({ path, pluginData: resolveDir }) => {
      const all = Object.keys(await import(path));
      const from = JSON.stringify(path);
      // CommonJS always has a default; without one it is a module, whose names esbuild sees by itself.
      if (!all.includes('default')) return { contents: `export * from ${from};\n`, resolveDir };
      const names = all.filter(name => name !== 'default' && IDENTIFIER.test(name));
      const contents = `import * as all from ${from};\nimport main from ${from};\nexport default main;\nexport const { ${names.join(', ')} } = all;\n`;
      return { contents, resolveDir };
    });
  },
};
