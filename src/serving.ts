import { hostname } from 'node:os';
import {
  type ApiCaller,
  type ApiServer,
  createServer,
  type Gauge,
  type Listening,
  listen,
  type ReadyCheck,
  type ServerOptions,
} from './api/index.ts';
import type { Callers } from './callers/index.ts';
import { type Config, isLoopback } from './config/index.ts';
import type { Service } from './service/index.ts';

/** What is behind the server. */
export type Backend = {
  serviceFor(caller: ApiCaller): Service;
  checks: readonly ReadyCheck[];
  gauges: readonly Gauge[];
  /** Begins no more runs, and resolves when those that go on have ended, or after the deadline. */
  drain(deadlineMs: number): Promise<void>;
};

export type ServingOptions = {
  config: Config;
  callers: Callers;
  backend: Backend;
  routes: ServerOptions['routes'];
  log: NonNullable<ServerOptions['log']>;
};

export type Serving = {
  url: string;
  server: ApiServer;
  /** False when something had to be cut off. */
  drain(): Promise<boolean>;
};

/** Answers take a moment longer than what they wait for. */
const ANSWER_MS = 2000;

/** Listens as the configuration says. */
export async function startServing(options: ServingOptions): Promise<Serving> {
  const { config, backend } = options;
  const server = await createServer(serverOptions(options));
  let listening: Listening;
  try {
    listening = await listen(server, config.get('server.host'), config.get('server.port'));
  } catch (error) {
    await server.close();
    throw error;
  }
  const deadlineMs = config.get('runs.drainDeadline');
  return {
    url: listening.url,
    server,
    drain: () => listening.drain(deadlineMs + ANSWER_MS, () => backend.drain(deadlineMs)),
  };
}

function serverOptions({ config, callers, backend, routes, log }: ServingOptions): ServerOptions {
  return {
    authenticate: token => callers.verify(token),
    recall: token => callers.recall(token),
    serviceFor: caller => backend.serviceFor(caller),
    routes,
    log,
    limits: {
      maxBodyBytes: config.get('server.bodyLimit'),
      requestMs: config.get('server.requestTimeout'),
      idleMs: config.get('server.keepAlive'),
    },
    rates: { failuresPerMinute: config.get('server.failuresPerMinute') },
    hosts: {
      hosts: hostsOf(config),
      origins: config.get('server.origins'),
      reachable: !isLoopback(config.get('server.host')),
    },
    proxies: config.get('server.proxies'),
    operations: { checks: backend.checks, gauges: backend.gauges, metrics: config.get('server.metrics') },
  };
}

/** The names that an operator gave; for others to reach it by, also the machine's own. */
function hostsOf(config: Config): string[] {
  const publicUrl = config.get('server.publicUrl');
  return [
    ...config.get('server.hosts'),
    ...(publicUrl === null ? [] : [new URL(publicUrl).hostname]),
    ...(isLoopback(config.get('server.host')) ? [] : [hostname()]),
  ];
}
