// Handlers may return a value or a promise. What does not wait should never need a promise: such handlers work in any
// engine, however they were bundled.

/** Runs `run`, hands its value to `done`, and whatever either throws to `failed`. A promise only if `run` returned one. */
export function maybeAwait(run, done, failed = rethrow) {
  let value;
  try {
    value = run();
    if (!isThenable(value)) return done(value);
  } catch (error) {
    return failed(error);
  }
  return value.then(done).then(undefined, failed);
}

export function isThenable(value) {
  return typeof value?.then === "function";
}

function rethrow(error) {
  throw error;
}
