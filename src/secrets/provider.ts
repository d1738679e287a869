import type { EndpointLimits } from '../broker/index.ts';

/** How the key is put into a request; the key itself is in the vault. */
export type AuthForm =
  | { form: 'bearer' }
  | { form: 'bot' }
  | { form: 'header'; name: string }
  | { form: 'basic'; user: string }
  | { form: 'query'; name: string };

/** One capability is one or more kinds of request. */
export type RequestPattern = { methods: readonly string[]; path: string };

/** SK-08: what a capability stands for, as data. */
export type ProviderEndpoint = {
  /** `messages.create` of `anthropic/messages.create`. */
  name: string;
  /** For whoever is asked, as the end of "It can …". */
  what: string;
  /** Others than the one who runs the skill can read what it sends: a message, a gist. Said in every approval. */
  carriesOut: boolean;
  requests: readonly RequestPattern[];
  limits: EndpointLimits;
};

/** A custom secret that belongs to known hosts: bound to them unless the operator says otherwise. */
export type KnownCustom = { key: string; hosts: readonly string[] };

export type Provider = {
  /** Also the name of its key in the vault. */
  name: string;
  title: string;
  scheme: 'https' | 'http';
  host: string;
  port: number;
  auth: AuthForm;
  /** Only the operator's own data may say so. */
  allowPrivate: boolean;
  endpoints: readonly ProviderEndpoint[];
  customs: readonly KnownCustom[];
};

export const NO_LIMITS: EndpointLimits = { requests: null, bytes: null, tokens: null };

/** One kind of request as it is written in the shipped data: `POST /v1/messages`, or `PUT,PATCH /x/*`. */
export function endpoint(
  name: string,
  what: string,
  requests: string | readonly string[],
  more: { carriesOut?: boolean; limits?: Partial<EndpointLimits> } = {},
): ProviderEndpoint {
  return {
    name,
    what,
    carriesOut: more.carriesOut ?? false,
    requests: [requests].flat().map(text => {
      const [methods = '', path = ''] = text.split(' ');
      return { methods: methods.split(','), path };
    }),
    limits: { ...NO_LIMITS, ...more.limits },
  };
}

/** What is the same for every provider that is shipped: TLS on the public internet. */
export function shipped(
  name: string,
  title: string,
  host: string,
  auth: AuthForm,
  endpoints: readonly ProviderEndpoint[],
  customs: readonly KnownCustom[] = [],
): Provider {
  return { name, title, scheme: 'https', host, port: 443, auth, allowPrivate: false, endpoints, customs };
}
