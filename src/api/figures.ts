/** How long requests took: upper ends in seconds, as Prometheus wants them. */
const SECONDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900,
];

export type Finished = { method: string; route: string; status: number; seconds: number };

type Route = {
  method: string;
  route: string;
  statuses: Map<number, number>;
  buckets: number[];
  sum: number;
  count: number;
};

/**
 * Counts of requests, kept as plain numbers: a library's histogram costs a small request a tenth of its time. There is one
 * entry for each route and method, and those are bounded.
 */
export class Figures {
  readonly #routes = new Map<string, Route>();
  readonly #refusals = new Map<string, number>();
  #open = 0;

  opened(): void {
    this.#open += 1;
  }

  closed({ method, route, status, seconds }: Finished): void {
    this.#open -= 1;
    const figures = this.#route(method, route);
    figures.statuses.set(status, (figures.statuses.get(status) ?? 0) + 1);
    const bucket = SECONDS.findIndex(end => seconds <= end);
    if (bucket !== -1) figures.buckets[bucket] = (figures.buckets[bucket] ?? 0) + 1;
    figures.sum += seconds;
    figures.count += 1;
  }

  refused(code: string): void {
    this.#refusals.set(code, (this.#refusals.get(code) ?? 0) + 1);
  }

  /** As Prometheus reads it. */
  render(): string {
    const routes = [...this.#routes.values()];
    return [
      ...about('skillbox_http_requests_total', 'counter', 'Requests that were answered, by route and status.'),
      ...routes.flatMap(({ method, route, statuses }) =>
        [...statuses].map(
          ([status, count]) => `skillbox_http_requests_total{${label({ method, route, status })}} ${count}`,
        ),
      ),
      ...about('skillbox_http_request_seconds', 'histogram', 'How long requests took, by route.'),
      ...routes.flatMap(renderHistogram),
      ...about('skillbox_http_refusals_total', 'counter', 'Requests that were refused, by error code.'),
      ...[...this.#refusals].map(([code, count]) => `skillbox_http_refusals_total{${label({ code })}} ${count}`),
      ...about('skillbox_http_requests_open', 'gauge', 'Requests that are on the way, streams included.'),
      `skillbox_http_requests_open ${this.#open}`,
      '',
    ].join('\n');
  }

  #route(method: string, route: string): Route {
    const name = `${method} ${route}`;
    const known = this.#routes.get(name);
    if (known !== undefined) return known;
    const made = { method, route, statuses: new Map(), buckets: SECONDS.map(() => 0), sum: 0, count: 0 };
    this.#routes.set(name, made);
    return made;
  }
}

function renderHistogram({ method, route, buckets, sum, count }: Route): string[] {
  const name = 'skillbox_http_request_seconds';
  const labels = label({ method, route });
  let below = 0;
  const lines = SECONDS.map((end, i) => {
    below += buckets[i] ?? 0;
    return `${name}_bucket{${labels},le="${end}"} ${below}`;
  });
  return [
    ...lines,
    `${name}_bucket{${labels},le="+Inf"} ${count}`,
    `${name}_sum{${labels}} ${sum}`,
    `${name}_count{${labels}} ${count}`,
  ];
}

function about(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function label(values: Record<string, string | number>): string {
  const pairs = Object.entries(values).map(([name, value]) => `${name}="${String(value).replace(/["\\\n]/g, '\\$&')}"`);
  return pairs.join(',');
}
