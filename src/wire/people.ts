import { type Static, Type } from 'typebox';
import { SCOPES } from '../service/index.ts';
import { Count, exactly, oneOf, orNull, pageOf, paging, Time } from './common.ts';

const Scopes = Type.Array(oneOf(SCOPES), { maxItems: SCOPES.length });
/** A name that the server checks closer. */
const Name = Type.String({ minLength: 1, maxLength: 256 });

export const WhoAmIAnswer = exactly({
  tenant: Type.String(),
  id: Type.String(),
  scopes: Scopes,
  expires_at: orNull(Time),
});
export type WhoAmIAnswer = Static<typeof WhoAmIAnswer>;

export const SecretAnswer = exactly({
  name: Type.String(),
  kind: Type.String(),
  hosts: Type.Array(Type.String()),
  version: Count,
  created_at: Time,
  changed_at: Time,
  used_at: orNull(Time),
});
export type SecretAnswer = Static<typeof SecretAnswer>;
export const SecretList = exactly({ secrets: Type.Array(SecretAnswer) });
export const SecretRequest = exactly({
  value: Type.String({ minLength: 1, maxLength: 65_536, description: 'never read back' }),
  hosts: Type.Optional(orNull(Type.Array(Type.String({ maxLength: 253 }), { maxItems: 100 }))),
});

export const ProviderList = exactly({
  providers: Type.Array(
    exactly({
      name: Type.String(),
      origin: Type.String(),
      host: Type.String(),
      capabilities: Type.Array(Type.String()),
    }),
  ),
});

export const KeyAnswer = exactly({
  id: Type.String(),
  tenant: Type.String(),
  name: Type.String(),
  scopes: Scopes,
  created_at: Time,
  created_by: Type.String(),
  expires_at: orNull(Time),
  last_used_at: orNull(Time),
  revoked_at: orNull(Time),
});
export type KeyAnswer = Static<typeof KeyAnswer>;
export const KeyPage = pageOf(KeyAnswer);
export const KeyFilter = exactly({ tenant: Type.Optional(Name), ...paging(500) });
export const KeyRequest = exactly({
  name: Name,
  tenant: Type.Optional(orNull(Name)),
  scopes: Scopes,
  expires_at: Type.Optional(orNull(Time)),
});
/** The only answer that ever holds the secret. */
export const NewKeyAnswer = exactly({ key: KeyAnswer, secret: Type.String() });
export const RotateRequest = exactly({ overlap_seconds: Type.Integer({ minimum: 0, maximum: 30 * 24 * 3600 }) });

const Amount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const quotas = { running: Amount, queued: Amount, storage_bytes: Amount, requests_per_minute: Amount };
export const QuotasAnswer = exactly(quotas);
const QuotasRequest = Type.Partial(QuotasAnswer, { additionalProperties: false });
export type QuotasRequest = Static<typeof QuotasRequest>;
export const TenantAnswer = exactly({
  name: Type.String(),
  created_at: Time,
  disabled_at: orNull(Time),
  quotas: QuotasAnswer,
  usage: exactly({ running: Count, queued: Count, storage_bytes: Count }),
});
export type TenantAnswer = Static<typeof TenantAnswer>;
export const TenantPage = pageOf(TenantAnswer);
export const TenantRequest = exactly({ name: Name, quotas: Type.Optional(QuotasRequest) });
export const TenantChange = exactly({
  quotas: Type.Optional(QuotasRequest),
  disabled: Type.Optional(Type.Boolean()),
});
export const PagingQuery = exactly(paging(500));
