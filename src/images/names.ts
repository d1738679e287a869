import { SkillboxError, visibleLine } from '../base/index.ts';

const NAME = /^[a-z0-9]+(?:[._/:@-]+[A-Za-z0-9_]+)*$/;
const MAX_NAME = 255;

/**
 * One spelling per image: `docker.io/library/python:3.12` is `python:3.12`, and a name without a tag means `:latest`, as
 * docker has it.
 */
export function normalName(name: string): string {
  const short = name.replace(/^(?:index\.)?docker\.io\/(?:library\/)?/, '');
  const last = short.slice(short.lastIndexOf('/') + 1);
  return last.includes(':') || last.includes('@') ? short : `${short}:latest`;
}

export function requireName(name: string): string {
  if (name.length > MAX_NAME || !NAME.test(name))
    throw new SkillboxError('USAGE', `"${visibleLine(name, 80)}" is no name of an image`, {
      hint: 'A name is like tools, tools:1.2 or registry.example/team/tools:1.2.',
    });
  // Whoever names a digest means the image to be held to it, and is not told that it could not be read.
  if (name.includes('@') && digestInName(name) === null)
    throw new SkillboxError('USAGE', `"${visibleLine(name, 80)}" names a digest that is none`, {
      hint: 'A digest is @sha256: and 64 characters 0-9 and a-f, at the end of the name.',
    });
  return normalName(name);
}

/** The digest that a name like `tools@sha256:…` promises, or null. */
export function digestInName(name: string): string | null {
  return /@(sha256:[0-9a-f]{64})$/.exec(name)?.[1] ?? null;
}
