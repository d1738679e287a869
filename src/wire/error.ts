import { Type } from 'typebox';
import { AnyObject, exactly } from './common.ts';

/** Every answer that is no success. The first two fields are what the published clients read. */
export const ErrorAnswer = exactly(
  {
    error: Type.String({ description: 'a code of docs/errors.md' }),
    message: Type.String(),
    hint: Type.String({ description: 'what to do next' }),
    details: AnyObject,
    request_id: Type.String(),
  },
  { description: 'What went wrong.' },
);
