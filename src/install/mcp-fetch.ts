import { renderSize, SkillboxError } from '../base/index.ts';

/** How much may come: in one answer, and in all of them together. */
export type Budget = { perAnswer: number; inAll: number };

type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>;

/** Fetches for the MCP client, and counts what comes. `stop` hears when it is too much; the answer then breaks off. */
export function countingFetch(budget: Budget, stop: (why: SkillboxError) => void): Fetch {
  let left = budget.inAll;
  return async (input, init) => {
    // A stream that the server may tell us things by at any time. We ask and are answered, so there is none.
    if ((init?.method ?? 'GET') === 'GET') return new Response(null, { status: 405 });
    const answer = await fetch(input, init);
    if (answer.body === null) return answer;
    let bytes = 0;
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length;
        left -= chunk.length;
        if (bytes <= budget.perAnswer && left >= 0) return controller.enqueue(chunk);
        const most = renderSize(bytes > budget.perAnswer ? budget.perAnswer : budget.inAll);
        const why = new SkillboxError('SOURCE_FAILED', `the MCP server answers more than ${most}`);
        stop(why);
        controller.error(why);
      },
    });
    const { status, statusText, headers } = answer;
    return new Response(answer.body.pipeThrough(counted), { status, statusText, headers });
  };
}
