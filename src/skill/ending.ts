import { EXIT } from '../base/index.ts';

/** How a run ended, or why it has not begun. One union, never a row of booleans. */
export type Ending =
  | { kind: 'exited'; code: number }
  | { kind: 'signaled'; signal: string }
  | { kind: LimitKind | 'timeout' | 'canceled' | 'bad-output' | 'denied' | 'interrupted' | 'waiting' };
type LimitKind = 'out-of-memory' | 'output-limit' | 'disk-limit' | 'pids-limit';

export type RunStatus = 'success' | 'failed' | 'timeout' | 'waiting';
export type EndingStatus = {
  status: RunStatus;
  /** What the REST API calls it: a run that waits is `pending` there. */
  rest: 'success' | 'failed' | 'timeout' | 'pending';
  /** Its own code for every failure; null for success. */
  error: string | null;
  exit: number;
};

/** the one map from an ending to a status, an error code and an exit code. */
export function statusOf(ending: Ending): EndingStatus {
  switch (ending.kind) {
    case 'exited':
      return ending.code === 0
        ? { status: 'success', rest: 'success', error: null, exit: EXIT.ok }
        : failed('EXITED', EXIT.failed);
    case 'signaled':
      return failed('SIGNALED', EXIT.failed);
    case 'timeout':
      return { status: 'timeout', rest: 'timeout', error: 'TIMEOUT', exit: EXIT.timeout };
    case 'waiting':
      return { status: 'waiting', rest: 'pending', error: 'WAITING_FOR_APPROVAL', exit: EXIT.denied };
    case 'denied':
      return failed('DENIED', EXIT.denied);
    case 'out-of-memory':
    case 'output-limit':
    case 'disk-limit':
    case 'pids-limit':
    case 'canceled':
    case 'bad-output':
    case 'interrupted':
      return failed(ending.kind.toUpperCase().replaceAll('-', '_'), EXIT.failed);
  }
}

function failed(error: string, exit: number): EndingStatus {
  return { status: 'failed', rest: 'failed', error, exit };
}
