// For bench/broker.ts, in a process of its own: the least that any relay does. It hands each request to the host and its
// answer back, and looks at nothing. What it loses against the direct way, no broker on the same machine can keep.
import { Agent, createServer, request } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';

const [socket = '', list = '{}', ca = '', servername = ''] = process.argv.slice(2);
const ports = JSON.parse(list) as Record<string, number>;
const plain = { ask: request, agent: new Agent({ keepAlive: true }) };
const secure = { ask: secureRequest, agent: new SecureAgent({ keepAlive: true, ca, servername }) };
const server = createServer((incoming, outgoing) => {
  const [, name = '', ...rest] = (incoming.url ?? '').split('/');
  const { ask, agent } = name.endsWith('https') ? secure : plain;
  const to = { agent, host: '127.0.0.1', port: ports[name], method: incoming.method, path: `/${rest.join('/')}` };
  const onward = ask(to, answer => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  onward.on('error', () => outgoing.destroy());
  outgoing.on('close', () => onward.destroy());
  incoming.pipe(onward);
});
server.keepAliveTimeout = 60_000;
server.listen(socket, () => process.stdout.write('ready\n'));
process.stdin.on('end', () => process.exit(0)).resume();
