import type { McpServer } from '@modelcontextprotocol/server';

const LOOK_MS = 250;

/**
 * Tells clients when what is offered is another than before. `current` gives the same object as long as nothing changed, and
 * costs next to nothing then; null says that nothing was seen yet. A server that nobody is connected to is passed over.
 */
export function tellChanges(current: () => unknown, live: ReadonlySet<McpServer>, tell: () => void): () => void {
  let last = current();
  const timer = setInterval(() => {
    const now = current();
    if (now === last || now === null) return;
    const isFirst = last === null;
    last = now;
    if (isFirst) return;
    for (const mcp of live) {
      if (!mcp.isConnected()) continue;
      mcp.sendToolListChanged();
      mcp.sendResourceListChanged();
    }
    tell();
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}
