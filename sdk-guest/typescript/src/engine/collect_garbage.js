// Collects garbage while the plugin is built. The engine collects when its memory has grown by a half since the last
// time, and a plugin whose modules left little of that would collect in the first call of every instance, which is each
// call. QuickJS has no function for it, so this makes garbage until a piece of it is gone.

const MOST = 10_000; // pieces, for an engine that collects only between jobs

export function collectGarbage() {
  const first = new WeakRef(garbage());
  for (let made = 1; made < MOST && first.deref() !== undefined; made += 1) garbage();
}

/** An object that refers to itself, so that counting references does not free it. */
function garbage() {
  const piece = { bytes: new ArrayBuffer(1024) };
  piece.self = piece;
  return piece;
}
