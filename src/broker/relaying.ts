import type { Readable } from 'node:stream';
import type { Fault } from './answer.ts';
import type { Brief, BrokerEvent } from './brief.ts';
import type { Flight } from './flight.ts';
import type { Judge } from './grant.ts';
import type { Upstream } from './host/upstream.ts';
import type { Meter } from './meter.ts';
import type { Scrubber } from './scrub.ts';
import type { Target } from './target.ts';
import type { TokenCheck } from './token.ts';

/** A request as the run made it, whichever way it came. */
export type Ask = {
  method: string;
  target: Target;
  /** The provider that the URL named, such as by `/api/PROVIDER/…`; null for a URL that names a host only. */
  provider: string | null;
  rawHeaders: readonly string[];
  body: Readable;
  /** Null: chunked, and nobody knows. */
  length: number | null;
};

/** What all requests of a run have in common. */
export type Relaying = {
  brief: Brief;
  token: TokenCheck;
  judge: Judge;
  meter: Meter;
  upstream: Upstream;
  say: (event: BrokerEvent) => void;
  deny: (fault: Fault, about: Denied) => void;
  scrubbers: Map<string, Scrubber>;
  flight: Flight;
};
export type Denied = { capability: string | null; method: string; host: string | null; reason: string };
