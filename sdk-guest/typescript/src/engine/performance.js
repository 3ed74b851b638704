// `performance` inside a component. The engine counts from when the plugin was built, on the clock of the machine that
// built it; here time begins with the first request.

const built = globalThis.performance;
let begun = null;

/** Begins to count, unless an earlier request of this instance did. */
export const begin = () => (begun ??= { at: built.now(), origin: Date.now() });

export const performance = {
  now: () => built.now() - (begun?.at ?? 0),
  get timeOrigin() {
    return begun?.origin ?? built.timeOrigin;
  },
};
