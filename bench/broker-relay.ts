// For bench/broker.ts, in a process of its own: the least that any relay does. It hands each request to the host and its
// answer back, and looks at nothing. What it loses against the direct way, no broker on the same machine can keep.
import { Agent, createServer, request } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';

const [socket = '', plain = '', secure = '', root = '', servername = ''] = process.argv.slice(2);
const ways = {
  http: { ask: request, options: { port: Number(plain), agent: new Agent({ keepAlive: true }) } },
  https: {
    ask: secureRequest,
    options: { port: Number(secure), agent: new SecureAgent({ keepAlive: true, ca: root, servername }) },
  },
};
const server = createServer((incoming, outgoing) => {
  const [, scheme = 'http', ...rest] = (incoming.url ?? '').split('/');
  const { ask, options } = scheme === 'https' ? ways.https : ways.http;
  const onward = ask({ ...options, host: '127.0.0.1', method: incoming.method, path: `/${rest.join('/')}` }, answer => {
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
