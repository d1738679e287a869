import { type JsonObject, type Shape, SkillboxError } from '../../base/index.ts';

/** What the service gives as plain JSON, before something is made of it that a person reads. */
export function readAs<T>(shape: Shape<T>, told: JsonObject): T {
  const wrong = shape(told, '');
  if (wrong === null) return told as T;
  throw new SkillboxError(
    'SERVER_UNREACHABLE',
    `what answers there is no Skillbox server: "${wrong}" is missing or wrong`,
    {
      hint: 'Or it is one of another version; --json shows what it says.',
      details: { field: wrong },
    },
  );
}
