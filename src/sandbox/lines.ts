import type { Socket } from 'node:net';

/** Lines are short and few; one that grows without end is not ours. */
export function onLines(socket: Socket, call: (line: string) => void): void {
  let rest = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > 4096) socket.destroy();
    for (const line of lines) call(line);
  });
}
