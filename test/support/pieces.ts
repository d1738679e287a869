/** The same bytes, in pieces: cut at these places, in whichever order they are named. */
export function cutAt(whole: Buffer, places: readonly number[]): Buffer[] {
  const cuts = [...new Set([0, ...places.filter(place => place < whole.length), whole.length])].sort((a, b) => a - b);
  return cuts.slice(1).map((to, index) => whole.subarray(cuts[index], to));
}
