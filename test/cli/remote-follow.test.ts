import { describe, expect, test } from 'vitest';
import { SkillboxError } from '../../src/base/index.ts';
import type { Io } from '../../src/cli/io.ts';
import { followRemote } from '../../src/cli/remote/run-report.ts';
import type { Service } from '../../src/service/index.ts';
import { publish, serveWorld, start } from '../api/world.ts';

const io = { interactive: false, interrupt: new AbortController().signal } as unknown as Io;

describe('following a run on a server', () => {
  test('that goes away: which run it was is said, and how to look at it later', async () => {
    const { world, server } = await serveWorld();
    await publish(server, 'slow-a');
    const id = await start(server, 'slow-a');
    const service = world.serviceFor({ tenant: 'acme', id: 'all', scopes: [], expiresAt: null });
    const gone = (code: 'SERVER_UNREACHABLE' | 'UNAUTHENTICATED'): Service => ({
      ...service,
      runs: {
        ...service.runs,
        follow: () => {
          throw new SkillboxError(code, 'the stream of events keeps breaking off');
        },
      },
    });
    const run = await service.runs.get(id);
    await expect(followRemote(gone('SERVER_UNREACHABLE'), run, false, io, ' --server http://a')).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
      message: 'the stream of events keeps breaking off',
      hint: `When the server answers again, \`skillbox exec show ${id} --server http://a\` tells how the run went.`,
      details: { run: id },
    });
    await expect(followRemote(gone('UNAUTHENTICATED'), run, false, io, '')).rejects.toMatchObject({ details: {} });
    await server.close();
  });
});
