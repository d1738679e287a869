import { isJSONRPCErrorResponse, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/server';

const INTERNAL = -32603;
const INVALID_PARAMS = -32602;

type Issue = { path: (string | number)[]; message: string };

/**
 * For most methods the SDK answers arguments that are not as the protocol has them with "internal error", and with the list
 * of its own validator: the client would take it for our fault, and try again. They are the client's to mend.
 */
export function sayInvalidParams(transport: Transport): Transport {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => send(mend(message), options);
  return transport;
}

function mend(message: JSONRPCMessage): JSONRPCMessage {
  // Looked at first: results are what is mostly sent, and they may be large.
  if (!('error' in message) || message.error.code !== INTERNAL || !isJSONRPCErrorResponse(message)) return message;
  const issues = issuesIn(message.error.message);
  if (issues === null) return message;
  const said = issues.map(({ path, message: why }) => `${path.slice(1).join('.') || 'params'}: ${why}`);
  return { ...message, error: { code: INVALID_PARAMS, message: `Invalid params: ${said.join('; ')}` } };
}

/** What the SDK's validator found, when that is all that is said, and it is of the arguments; otherwise null. */
function issuesIn(text: string): Issue[] | null {
  if (!text.startsWith('[')) return null;
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.length > 0 && list.every(isIssue) ? list : null;
  } catch {
    return null; // words of somebody else
  }
}

function isIssue(value: unknown): value is Issue {
  const { path, message } = (value ?? {}) as { path?: unknown; message?: unknown };
  return Array.isArray(path) && path[0] === 'params' && typeof message === 'string';
}
