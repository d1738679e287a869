import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    isolate: false,
    testTimeout: 20_000,
    setupFiles: ['test/support/setup.ts'],
  },
});
