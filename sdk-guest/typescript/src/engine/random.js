// Random numbers. The engine is started when a plugin is built, and what it would call random is the same in every
// instance from then on; so `Math.random` begins anew from the host's random bytes in each call.

import random from "wasi:random/random@0.2.12";

const MAX_BYTES = 4096; // the host gives no more at once, unless its operator says so
const built = Math.random;
let state = null;

/** Begins anew with the next number. */
export const reseed = () => (state = undefined);

function fill(bytes) {
  for (let at = 0; at < bytes.length; at += MAX_BYTES) {
    bytes.set(random.getRandomBytes(Math.min(MAX_BYTES, bytes.length - at)), at);
  }
  return bytes;
}

/** The generator sfc32: 128 bits of state, good enough for whatever is no secret. */
function next() {
  let [a, b, c, d] = state;
  const sum = (a + b + d) | 0;
  state[3] = (d + 1) | 0;
  state[0] = b ^ (b >>> 9);
  state[1] = (c + (c << 3)) | 0;
  state[2] = (((c << 21) | (c >>> 11)) + sum) | 0;
  return sum >>> 0;
}

export function mathRandom() {
  if (state === null) return built(); // while the plugin is built
  state ??= new Int32Array(fill(new Uint8Array(16)).buffer);
  return ((next() >>> 5) * 0x4000000 + (next() >>> 6)) / 0x20000000000000;
}

export const crypto = {
  getRandomValues(array) {
    fill(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return array;
  },

  randomUUID() {
    const bytes = fill(new Uint8Array(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  },
};
