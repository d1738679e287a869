import type { Counter, Histogram, Gauge as PromGauge, Registry } from 'prom-client';

/** A number that is asked for when somebody reads the metrics: how many runs wait, and the like. */
export type Gauge = { name: string; help: string; read(): number | Promise<number> };

export type Finished = { method: string; route: string; status: string; seconds: number };

/** What Prometheus reads. Labels are the patterns of routes, never paths, and no tenants: there are a bounded number. */
export interface Metrics {
  finished(request: Finished): void;
  opened(): void;
  closed(): void;
  /** A request was refused before its route: with a wrong key, too soon, from a wrong origin. */
  refused(code: string): void;
  render(): Promise<{ type: string; text: string }>;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900];

/** The library is loaded here, for those who serve metrics. */
export async function createMetrics(gauges: readonly Gauge[]): Promise<Metrics> {
  const prom = (await import('prom-client')).default;
  const registry: Registry = new prom.Registry();
  const registers = [registry];
  prom.collectDefaultMetrics({ register: registry });
  const requests: Counter = new prom.Counter({
    name: 'skillbox_http_requests_total',
    help: 'Requests that were answered, by route and status.',
    labelNames: ['method', 'route', 'status'],
    registers,
  });
  const seconds: Histogram = new prom.Histogram({
    name: 'skillbox_http_request_seconds',
    help: 'How long requests took, by route.',
    labelNames: ['method', 'route'],
    buckets: SECONDS,
    registers,
  });
  const open: PromGauge = new prom.Gauge({
    name: 'skillbox_http_requests_open',
    help: 'Requests that are on the way, streams included.',
    registers,
  });
  const refusals: Counter = new prom.Counter({
    name: 'skillbox_http_refusals_total',
    help: 'Requests that were refused, by error code.',
    labelNames: ['code'],
    registers,
  });
  for (const asked of gauges) {
    const { name, help } = asked;
    const gauge: PromGauge = new prom.Gauge({
      name,
      help,
      registers,
      async collect() {
        gauge.set(await asked.read());
      },
    });
  }
  return {
    finished: ({ method, route, status, seconds: took }) => {
      requests.inc({ method, route, status });
      seconds.observe({ method, route }, took);
    },
    opened: () => open.inc(),
    closed: () => open.dec(),
    refused: code => refusals.inc({ code }),
    render: async () => ({ type: registry.contentType, text: await registry.metrics() }),
  };
}
