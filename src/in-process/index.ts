/** The service in this process: what `api/` puts behind routes, and what a program may use without any. */
export {
  DEFAULT_EXECUTIONS,
  DEFAULT_QUOTAS,
  DEFAULT_RETENTION,
  IN_PROCESS_DEFAULTS,
  type InProcess,
  type InProcessOptions,
  openInProcess,
} from './open.ts';
export type { Member, ServiceParts } from './parts.ts';
export { createService } from './service.ts';
