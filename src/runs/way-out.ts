import type { ChildProgram } from '../egress/index.ts';

/** Where a run finds the socket of its broker, or of its proxy. */
export const BROKER_SOCKET = '/skillbox/broker.sock';
export const PROXY_SOCKET = '/skillbox/proxy.sock';

/** The program behind such a socket, loaded when it is asked for; null: there is none. */
export async function programAt(socket: string): Promise<ChildProgram | null> {
  if (socket === BROKER_SOCKET) return (await import('../broker/index.ts')).BROKER_PROGRAM;
  if (socket === PROXY_SOCKET) return (await import('../egress/index.ts')).EGRESS_PROGRAM;
  return null;
}
