// npm run bench -- NAME: what the README's figures come from.
const BENCHES: Record<string, () => Promise<{ run(): Promise<void> }>> = {
  read: () => import('./read.ts'),
  run: () => import('./run.ts'),
  broker: () => import('./broker.ts'),
  scan: () => import('./scan.ts'),
  catalog: () => import('./catalog.ts'),
  mcp: () => import('./mcp.ts'),
  audit: () => import('./audit.ts'),
  policy: () => import('./policy.ts'),
  server: () => import('./server.ts'),
};

const [name, ...rest] = process.argv.slice(2);
const names = name === undefined ? Object.keys(BENCHES) : [name];
for (const each of names) {
  const load = BENCHES[each];
  if (load === undefined || rest.length > 0) {
    process.stderr.write(`usage: npm run bench -- [${Object.keys(BENCHES).join(' | ')}]\n`);
    process.exit(2);
  }
  const bench = await load();
  await bench.run();
}
