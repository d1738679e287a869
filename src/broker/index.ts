/** The process that holds a run's secrets in its stead: it puts keys into requests, and lets nothing else out. */
export type { Auth, Brief, BrokerEvent, BrokerLimits, CustomSecret, Endpoint, EndpointLimits } from './brief.ts';
