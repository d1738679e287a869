import { SkillboxError, visibleLine } from '../base/index.ts';

/** What the validator says of one place. */
type Problem = { keyword?: unknown; instancePath?: unknown; message?: unknown; params?: unknown };
type Field = { in: string; field: string; problem: string };

const UNKNOWN = 'is not known here';
const MAX_FIELDS = 8;
const MAX_TOLD = 3;
const MAX_CHOICES = 12;
const PARTS: Readonly<Record<string, string>> = { querystring: 'query', params: 'path' };

/** Names the fields and what is wrong with them; never a value, which may be a secret. */
export function refuseFields(error: Error, problems: readonly Problem[]): SkillboxError {
  const where = 'validationContext' in error ? String(error.validationContext) : 'body';
  const all = problems.flatMap(problem => toFields(where, problem));
  // The validator says of a name that nobody knows twice what it is.
  const fields = [...new Map(all.map(one => [`${one.field} ${one.problem}`, one])).values()].slice(0, MAX_FIELDS);
  const told = fields.slice(0, MAX_TOLD).map(({ field, problem }) => (field === '' ? problem : `${field} ${problem}`));
  const part = PARTS[where] ?? where;
  return new SkillboxError('BODY_REFUSED', `in the ${part}: ${told.join('; ') || 'something does not fit'}`, {
    details: { fields },
  });
}

/** One for each name: what is missing, and what nobody knows, is said of the object that it should, or should not, be in. */
function toFields(where: string, { keyword, instancePath, message, params }: Problem): Field[] {
  // What the caller made up may be long, and anything.
  const path = typeof instancePath === 'string' ? visibleLine(instancePath, 200) : '';
  const { requiredProperties, additionalProperties, allowedValues } = Object(params) as Record<string, unknown>;
  const each = (names: unknown, problem: string): Field[] =>
    [names].flat().map(name => ({ in: where, field: `${path}/${visibleLine(String(name), 100)}`, problem }));
  switch (keyword) {
    case 'required':
      return each(requiredProperties, 'is missing');
    case 'additionalProperties':
      return each(additionalProperties, UNKNOWN);
    case 'boolean':
      return [{ in: where, field: path, problem: UNKNOWN }];
    case 'enum':
      return [{ in: where, field: path, problem: `must be one of ${listed(allowedValues)}` }];
    default:
      return [{ in: where, field: path, problem: String(message) }];
  }
}

function listed(values: unknown): string {
  const all = [values].flat().map(String);
  return all.length > MAX_CHOICES ? `${all.slice(0, MAX_CHOICES).join(', ')}, …` : all.join(', ');
}
