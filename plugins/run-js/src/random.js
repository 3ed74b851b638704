// `Math.random` that begins anew with each call.
//
// A component is a picture of a program that has already started, and the engine's own generator is in that picture:
// every instance would draw the same numbers. This is sfc32, from numbers that the call brings along. It is good enough
// for games and samples, and not for secrets.

/** A generator of numbers from 0 up to 1. */
export function makeRandom([a, b, c, d]) {
  const next = () => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  for (let round = 0; round < 15; round += 1) next();
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}
