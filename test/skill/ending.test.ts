import { describe, expect, test } from 'vitest';
import { type Ending, statusOf } from '../../src/skill/index.ts';

describe('X-13 how a run ends', () => {
  test.each<[Ending, string, string, string | null, number]>([
    [{ kind: 'exited', code: 0 }, 'success', 'success', null, 0],
    [{ kind: 'exited', code: 3 }, 'failed', 'failed', 'EXITED', 1],
    [{ kind: 'signaled', signal: 'SIGSEGV' }, 'failed', 'failed', 'SIGNALED', 1],
    [{ kind: 'timeout' }, 'timeout', 'timeout', 'TIMEOUT', 124],
    [{ kind: 'waiting' }, 'waiting', 'pending', 'WAITING_FOR_APPROVAL', 4],
    [{ kind: 'denied' }, 'failed', 'failed', 'DENIED', 4],
    [{ kind: 'out-of-memory' }, 'failed', 'failed', 'OUT_OF_MEMORY', 1],
    [{ kind: 'pids-limit' }, 'failed', 'failed', 'PIDS_LIMIT', 1],
    [{ kind: 'output-limit' }, 'failed', 'failed', 'OUTPUT_LIMIT', 1],
    [{ kind: 'disk-limit' }, 'failed', 'failed', 'DISK_LIMIT', 1],
    [{ kind: 'bad-output' }, 'failed', 'failed', 'BAD_OUTPUT', 1],
    [{ kind: 'canceled' }, 'failed', 'failed', 'CANCELED', 1],
    [{ kind: 'interrupted' }, 'failed', 'failed', 'INTERRUPTED', 1],
  ])('%j', (ending, status, rest, error, exit) => {
    expect(statusOf(ending)).toEqual({ status, rest, error, exit });
  });
});
