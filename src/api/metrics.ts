import type { Gauge as PromGauge } from 'prom-client';
import { Figures, type Finished } from './figures.ts';

/** A number that is asked for when somebody reads the metrics: how many runs wait, and the like. */
export type Gauge = { name: string; help: string; read(): number | Promise<number> };

/** What Prometheus reads. Labels are the patterns of routes, never paths, and no tenants: there are a bounded number. */
export interface Metrics {
  opened(): void;
  closed(request: Finished): void;
  /** A request was answered with an error. */
  refused(code: string): void;
  render(): Promise<{ type: string; text: string }>;
}

/** The library is loaded here, for those who serve metrics: it knows the process, we know the requests. */
export async function createMetrics(gauges: readonly Gauge[]): Promise<Metrics> {
  const prom = (await import('prom-client')).default;
  const registry = new prom.Registry();
  prom.collectDefaultMetrics({ register: registry });
  for (const asked of gauges) {
    const { name, help } = asked;
    const gauge: PromGauge = new prom.Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        gauge.set(await asked.read());
      },
    });
  }
  const figures = new Figures();
  return {
    opened: () => figures.opened(),
    closed: request => figures.closed(request),
    refused: code => figures.refused(code),
    render: async () => ({ type: registry.contentType, text: `${await registry.metrics()}\n${figures.render()}` }),
  };
}
