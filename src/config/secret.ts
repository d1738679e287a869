import { readGuarded, SkillboxError } from '../base/index.ts';
import { type Place, renderPlace } from './fault.ts';
import { absolutePath } from './kinds.ts';
import type { Secret } from './setting.ts';
import type { SettingName } from './settings.ts';

const MAX_BYTES = 64 * 1024;
const OTHERS = 0o007;

/** The value is in a closure, so that no printer and no log line that goes through an object finds it. */
export function makeSecret(
  name: SettingName,
  text: string,
  path: boolean,
  place: Place,
): Secret | { fault: { message: string; hint: string } } {
  if (path) {
    if (absolutePath.parse(text) === undefined) {
      // It may be the secret itself.
      const hint = 'Write the whole path of a file that holds the secret.';
      return { fault: { message: 'is not an absolute path', hint } };
    }
    return { source: { kind: 'file', path: text }, read: () => readSecretFile(name, text) };
  }
  if (text.trim() === '' || /[\r\n\0]/.test(text.trim())) {
    return { fault: { message: `holds no usable ${name}`, hint: 'It is one line.' } };
  }
  return { source: { kind: 'text', from: renderPlace(place) }, read: () => text.trim() };
}

/** Threat: who may write it sends us to a database of his own; who may read it goes to ours. */
function readSecretFile(name: SettingName, path: string): string {
  const refuse = (why: string) =>
    new SkillboxError('CONFIG_INVALID', `the file of ${name}, ${path}, cannot be used: ${why}`, {
      hint: 'Give it one line, and let only the account of Skillbox read it: chmod 400.',
    });
  const found = readGuarded(path, { maxBytes: MAX_BYTES, mine: true, links: true });
  if (found === null) throw refuse('it is not there');
  if ('fault' in found) throw refuse(found.fault);
  if ((found.mode & OTHERS) !== 0) throw refuse('everybody can read it');
  const text = found.text.trim();
  if (text === '' || /[\r\n\0]/.test(text)) throw refuse('it does not hold one line');
  return text;
}
