import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    isolate: false,
    // Most tests wait for processes that they started; by default a machine with two cores would have one worker.
    maxWorkers: 2,
    testTimeout: 20_000,
    setupFiles: ['test/support/setup.ts'],
  },
});
