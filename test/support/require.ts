const required = (process.env.SKILLBOX_REQUIRE ?? '').split(',');

/** A reason to skip, unless the environment says that this must run here. */
export function skipUnless(holds: boolean, name: string, why: string): string | null {
  if (holds) return null;
  if (required.includes(name)) throw new Error(`SKILLBOX_REQUIRE names ${name}, but ${why}`);
  return why;
}
