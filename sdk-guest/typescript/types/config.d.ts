// `config`: the plugin's settings and secrets, from its operator. Both are read by name in the same way.

/** A setting, or `undefined` if the operator did not make it. */
export declare function get(key: string): string | undefined;
/** A setting that the plugin cannot do without. */
declare function required(key: string): string;
export { required as require };
/** All settings that are no secrets. */
export declare function all(): Record<string, string>;
