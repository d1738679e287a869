import { SkillboxError } from '../../base/index.ts';

/** What only this machine can do is never passed over in silence. `what`: what the option is for. */
export function onlyHere(option: string, what: string): SkillboxError {
  return new SkillboxError('USAGE', `--${option} is for ${what} on this machine`, {
    hint: 'Leave it out, or name no server, neither with --server nor in SKILLBOX_SERVER_URL.',
  });
}
