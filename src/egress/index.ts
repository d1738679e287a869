/**
 * The one way out of a run: a proxy process behind a unix socket that holds only what this run may reach. The package
 * index of a build is one use of it, the secrets broker another. Pure half: decide, address, headers.
 */
export { type Reach, reachOf } from './address.ts';
export { certificatesWarning, hostCertificates } from './certificates.ts';
export {
  type Child,
  type ChildOptions,
  type ChildProgram,
  childUid,
  startChild,
  startWaiting,
  type WaitingChild,
} from './child.ts';
export {
  type EgressRule,
  type EgressRules,
  findRule,
  PUBLIC_PORTS,
  parseAbsolute,
  parseAuthority,
  type Refusal,
  type Target,
} from './decide.ts';
export { createDial, type Dial, type Open, type Resolve, resolveHost } from './dial.ts';
export { returnHeaders } from './headers.ts';
export { DEFAULT_EGRESS_LIMITS, type EgressLimits } from './limits.ts';
export type { EgressEvent } from './proxy.ts';
export { listenAt, sayLine, serveSettings } from './serve.ts';
export { EGRESS_PROGRAM, type Egress, startEgress } from './start.ts';
export { CERTIFICATE_VARIABLES, LOOPBACK } from './variables.ts';
