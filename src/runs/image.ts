import { SkillboxError, visibleLine } from '../base/index.ts';
import { hostRuntimeOf, type Invocation } from '../dialects/index.ts';
import { findProgram, type Images, missingFor, normalName, realPath } from '../images/index.ts';
import { leftOutOf, type RuntimeSpec } from '../sandbox/index.ts';

/** SB-03: null allows the default images and every imported one. An empty list allows none. */
export type ImagePolicy = { allowed: readonly string[] | null };

export type ChosenRuntime = {
  runtime: RuntimeSpec;
  image: string | null;
  argv: string[];
  env: Record<string, string>;
};

/** Where the sandbox looks for a bare name, whatever PATH the run has. */
const USUAL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** SB-03: whether a skill that runs in the image may be published. One that is on the list need not be imported yet. */
export function allowsImage(wanted: string, images: Pick<Images, 'find'>, { allowed }: ImagePolicy): boolean {
  const name = normalName(wanted);
  if (allowed !== null) return allowed.some(one => normalName(one) === name);
  return hostRuntimeOf(name) !== null || images.find(name) !== null;
}

/** the imported image, or for a default one the host's interpreters; never another in silence. */
export function chooseRuntime(
  wanted: string | null,
  { argv, env }: Pick<Invocation, 'argv' | 'env'>,
  images: Images,
  policy: ImagePolicy,
): ChosenRuntime {
  const host: ChosenRuntime = { runtime: { kind: 'host', also: [] }, image: null, argv, env };
  if (wanted === null) return host;
  const name = normalName(wanted);
  const shown = visibleLine(wanted, 120);
  if (policy.allowed !== null && !policy.allowed.some(allowed => normalName(allowed) === name))
    throw new SkillboxError('IMAGE_NOT_ALLOWED', `the image "${shown}" is not on the operator's list`, {
      details: { image: wanted, allowed: policy.allowed },
    });
  const image = images.find(name);
  if (image === null) {
    if (hostRuntimeOf(name) !== null) return host;
    throw new SkillboxError('IMAGE_MISSING', `the skill asks for the image "${shown}", which is not imported`, {
      hint: `Get it with: docker pull ${shown} && docker save ${shown} -o image.tar && skillbox image import ${shown} image.tar`,
      details: { image: wanted },
    });
  }
  const root = images.rootOf(image.digest);
  // What the image sets comes first, as docker has it, and its PATH counts: it knows where its programs are.
  const merged = { ...image.env, ...env, PATH: image.env.PATH ?? env.PATH ?? '' };
  const [program = '', ...rest] = argv;
  const found = findProgram(root, program, merged.PATH);
  if (!program.includes('/') && found === null)
    throw new SkillboxError('RUNTIME_MISSING', `the image ${shown} has no ${program}`, {
      hint: 'Use an image that has it.',
      details: { image: name, program, path: merged.PATH },
    });
  if (found !== null) requireShown(shown, root, found);
  const lacking = found === null ? null : missingFor(root, found);
  if (lacking !== null)
    throw new SkillboxError(
      'RUNTIME_MISSING',
      `the image ${shown} has ${found}, and not ${visibleLine(lacking, 200)}, without which it does not start`,
      {
        hint: 'Use an image that has both, with the libraries; of a program that is copied from elsewhere, take one that is linked statically.',
        details: { image: name, program: found, missing: lacking },
      },
    );
  const { digest } = image;
  return {
    runtime: { kind: 'image', name, digest, root },
    image: digest,
    argv: [placeOf(root, program, merged.PATH) ?? program, ...rest],
    env: merged,
  };
}

/** What an image has where a run has places of its own is not there: some keep their interpreter in the home of root. */
function requireShown(image: string, root: string, program: string): void {
  const real = realPath(root, program) ?? program;
  const [, top = ''] = real.split('/');
  if (!leftOutOf([]).has(top)) return;
  const at = real === program ? program : `${program}, which is ${visibleLine(real, 200)}`;
  throw new SkillboxError(
    'RUNTIME_MISSING',
    `the image ${image} has ${at}; what it has in /${top} is not there in a run`,
    {
      hint: 'Use an image that has it in /usr, /opt or another place of its own.',
      details: { image, program, path: real },
    },
  );
}

/** Null where the bare name does: not every image has its own where others have theirs, and then it would be another, or none. */
export function placeOf(root: string, program: string, path: string): string | null {
  const found = findProgram(root, program, path);
  return found === findProgram(root, program, USUAL_PATH) ? null : found;
}

/** Between the plan and the start somebody may have removed it. */
export function holdImage(images: Images, digest: string): () => void {
  const release = images.hold(digest);
  if (release === null) throw new SkillboxError('IMAGE_MISSING', `the image sha256:${digest} was removed meanwhile`);
  return release;
}
