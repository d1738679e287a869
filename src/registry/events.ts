import type { AuditEvent, Caller, EventType } from '../audit/index.ts';
import type { JsonObject } from '../base/index.ts';
import type { SkillHead } from '../store/index.ts';

type Release = Pick<SkillHead, 'name' | 'version' | 'digest'>;

export function publishedEvent(caller: Caller, release: Release & Pick<SkillHead, 'archive'>): AuditEvent {
  const { archive } = release;
  return about(caller, 'skill.published', release, { archive: archive.sha256, publisher: caller.actor.id });
}

/** With null as the reason the yank is taken back. */
export function yankedEvent(caller: Caller, release: Release, reason: string | null): AuditEvent {
  return about(caller, reason === null ? 'skill.unyanked' : 'skill.yanked', release, reason === null ? {} : { reason });
}

export function taggedEvent(caller: Caller, release: Release, tag: string, before: string | null): AuditEvent {
  return about(caller, 'skill.tagged', release, { tag, before });
}

export function untaggedEvent(caller: Caller, release: Release, tag: string): AuditEvent {
  return about(caller, 'skill.untagged', release, { tag });
}

function about({ actor, tenant }: Caller, type: EventType, release: Release, data: JsonObject): AuditEvent {
  const { name, version, digest } = release;
  return { type, actor, tenant, subject: `${name}@${version}`, data: { digest, ...data } };
}
