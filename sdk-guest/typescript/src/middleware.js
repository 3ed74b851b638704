// Middleware: functions around each tool, resource and prompt of a plugin, for what all of them need, such as timing or
// a check. One runs before and after the function, and sees what the function throws as it was thrown.

/** Calls `serve` through the functions around it, the first of which is the outermost. */
export function through([first, ...others], context, serve) {
  if (!first) return serve(context);
  return first(context, (changed = context) => through(others, changed, serve));
}

/** Puts the functions around each of these tools, resources and prompts. */
export function surround(all, middleware) {
  if (!middleware.every((one) => typeof one === "function"))
    throw new TypeError("each `middleware` must be a function of the context and `next`");
  for (const one of all) one.middleware = middleware;
}
