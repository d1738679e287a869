import type { AuthInfo, ServerContext } from '@modelcontextprotocol/server';
import type { Library, LocalDesk, ToolScope } from '../agent/index.ts';
import { SkillboxError } from '../base/index.ts';

/** Who a request comes from, and what they can do. */
export type McpCaller = {
  library: Library;
  scopes: readonly ToolScope[];
  /** The key that was shown, for the journal of a machine of one's own; null when there is nothing to tell apart. */
  key: string | null;
  /** Aborted when they would not be let in any more; null where that cannot happen. */
  gone: AbortSignal | null;
  /** Before something large is read for them: throws BUSY when there is too much already. Until it is released, or answered. */
  hold: (bytes: number) => () => void;
};

/** Who sits before this machine may do everything. */
export function localCaller({ library }: LocalDesk): McpCaller {
  return { library, scopes: ['read', 'run'], key: null, gone: null, hold: () => () => undefined };
}

/** A caller on its way through the SDK, which hands this on with every message and looks at none of it. */
export function toAuth(caller: McpCaller): AuthInfo {
  return { token: '', clientId: '', scopes: [], extra: { caller } };
}

/** Threat: a message that nobody was named for must not be taken for anybody's. */
export function callerOf(ctx: ServerContext): McpCaller {
  const caller = ctx.http?.authInfo?.extra?.caller as McpCaller | undefined;
  if (caller === undefined) throw new SkillboxError('INTERNAL', 'a message came without its caller');
  return caller;
}
