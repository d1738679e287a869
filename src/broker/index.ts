/** The process that holds a run's secrets in its stead: it puts keys into requests, and lets nothing else out. */
export type { Auth, Brief, BrokerEvent, BrokerLimits, CustomSecret, Endpoint, EndpointLimits } from './brief.ts';
export { brokerEnvironment } from './environment.ts';
export type { Pin } from './host/upstream.ts';
export { BROKER_PROGRAM, type BrokerSurroundings, type RunningBroker, startBroker } from './start.ts';
