/**
 * All that the broker of one run is told, once, over its standard input: what the run may use, and the values for it. It has
 * no other way to a secret, and what is not in here it cannot give away.
 */
export type Brief = {
  run: string;
  skill: { name: string; digest: string };
  /** SHA-256, in hex, of the token that the run presents. The token itself never enters the broker. */
  tokenHash: string;
  /** Milliseconds since 1970; no request is answered after it. */
  expiresAt: number;
  /** SK-07: requests that get a key put in. */
  endpoints: Endpoint[];
  /** SK-10: secrets that were granted by name. */
  customs: CustomSecret[];
  /** Plain egress that policy granted besides: `host`, `host:port` or an origin; empty means none. */
  hosts: string[];
  /** True: any public address, because the skill names no hosts and policy granted that. Absent means no. */
  public?: boolean;
  limits: BrokerLimits;
};

/** One capability: which requests it stands for, and the key that they get. */
export type Endpoint = {
  /** `provider/endpoint`. */
  capability: string;
  provider: string;
  scheme: 'https' | 'http';
  host: string;
  port: number;
  methods: string[];
  /** A path pattern: literal segments, `*` for one segment, `**` at the end for any rest. */
  path: string;
  auth: Auth;
  limits: EndpointLimits;
  /** Only the operator's own provider data may name a private address. */
  allowPrivate: boolean;
};

/** How the key is put into a request. */
export type Auth =
  | { form: 'bearer'; value: string }
  | { form: 'bot'; value: string }
  | { form: 'header'; name: string; value: string }
  | { form: 'basic'; user: string; value: string }
  | { form: 'query'; name: string; value: string };

/** Null: no limit of its own. Counted for the run. */
export type EndpointLimits = { requests: number | null; bytes: number | null; tokens: number | null };

export type CustomSecret = {
  /** The key in `custom/KEY`. */
  key: string;
  value: string;
  /**
   * Not empty: never released; `get` answers a placeholder that is replaced on the way to these hosts only. `host` and
   * `host:port` are reached by https; whoever wants a secret to travel in the clear writes `http://host`.
   */
  hosts: string[];
  /** For `hosts`: what the run sees instead of the value. */
  placeholder: string | null;
};

export type BrokerLimits = { requestBytes: number; responseBytes: number; timeMs: number; concurrent: number };

/**
 * What the broker tells the runtime, one JSON object a line on its standard output; never a value, but for one that the run itself
 * put into a path, a host or a name. These come as they are: whoever cut them could cut a value, and its beginning would be found by nobody.
 */
export type BrokerEvent =
  /** `ca`: the certificate, as PEM, that the run trusts for what goes through the broker. */
  | { event: 'ready'; socket: string; ca: string }
  | {
      event: 'used';
      capability: string;
      method: string;
      host: string;
      path: string;
      /** Null: none came. */
      status: number | null;
      sent: number;
      received: number;
      tokens: number | null;
      durationMs: number;
    }
  | { event: 'denied'; capability: string | null; method: string; host: string | null; reason: string }
  | { event: 'released'; capability: string }
  | { event: 'failed'; capability: string | null; host: string | null; reason: string };
