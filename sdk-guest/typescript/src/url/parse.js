// URLs as text, taken apart and put together. The rules are those of the URL Standard (https://url.spec.whatwg.org),
// but for drive letters and names that are not ASCII.

import { parseHost } from "./host.js";
import { percentEncode, SETS } from "./percent.js";

/** Ports that are left out of URLs of these schemes. */
const SPECIAL = { http: "80", https: "443", ws: "80", wss: "443", ftp: "21", file: undefined };

export const isSpecial = (scheme) => Object.hasOwn(SPECIAL, scheme);

/**
 * The parts of a URL. `host` is null without an authority, `path` a text if it is opaque and a list of segments
 * otherwise, `query` and `fragment` null if they are missing.
 */
export function parse(input, base) {
  const text = input.replace(/^[\x00-\x20]+|[\x00-\x20]+$/g, "").replace(/[\t\n\r]/g, "");
  const [, scheme, rest] = /^(?:([a-z][a-z0-9+.-]*):)?([^]*)$/i.exec(text);
  const [, path, query, fragment] = /^([^?#]*)(?:\?([^#]*))?(?:#([^]*))?$/.exec(rest);
  if (
    typeof base?.path === "string" &&
    scheme === undefined &&
    (path !== "" || query !== undefined || fragment === undefined)
  )
    throw new TypeError("its base has no path");
  const parts = located(scheme?.toLowerCase(), path, base, query === undefined);
  const set = isSpecial(parts.scheme) ? SETS.specialQuery : SETS.query;
  if (query !== undefined) parts.query = percentEncode(query, set);
  parts.fragment = fragment === undefined ? null : percentEncode(fragment, SETS.fragment);
  return parts;
}

/** All but the query and the fragment, which a URL takes over that has no path of its own. */
function located(scheme, path, base, keepsQuery) {
  const isRelative =
    scheme === undefined || (scheme === base?.scheme && isSpecial(scheme) && !path.startsWith("//"));
  if (!isRelative) return absolute(scheme, path);
  if (!base) throw new TypeError("it is not absolute, and there is no base");
  const slashed = isSpecial(base.scheme) ? path.replaceAll("\\", "/") : path;
  if (slashed.startsWith("//")) {
    const isNamed = isSpecial(base.scheme) && base.scheme !== "file"; // further slashes mean nothing then
    return withAuthority(base.scheme, slashed.replace(isNamed ? /^\/+/ : /^\/\//, ""));
  }
  if (slashed === "") return { ...base, query: keepsQuery ? base.query : null };
  const before = slashed.startsWith("/") ? [] : base.path.slice(0, -1);
  return { ...base, path: segments(slashed.replace(/^\//, ""), base.scheme, before), query: null };
}

function absolute(scheme, path) {
  const parts = { scheme, username: "", password: "", host: null, port: "", path: [], query: null };
  if (scheme === "file") {
    const slashed = path.replaceAll("\\", "/");
    if (slashed.startsWith("//")) return withAuthority(scheme, slashed.slice(2));
    return { ...parts, host: "", path: segments(slashed.replace(/^\//, ""), scheme) };
  }
  if (isSpecial(scheme)) return withAuthority(scheme, path.replace(/^[/\\]*/, ""));
  if (path.startsWith("//")) return withAuthority(scheme, path.slice(2));
  if (path.startsWith("/")) return { ...parts, path: segments(path.slice(1), scheme) };
  return { ...parts, path: percentEncode(path, SETS.opaque) };
}

function withAuthority(scheme, text) {
  const end = text.search(isSpecial(scheme) ? /[/\\]/ : /\//);
  const [authority, path] = end < 0 ? [text, null] : [text.slice(0, end), text.slice(end + 1)];
  const [, user, password, place] = /^(?:([^:]*?)(?::([^]*))?@)?([^@]*)$/.exec(authority);
  const parts = { scheme, username: encoded(user), password: encoded(password), query: null };
  Object.assign(parts, parsePlace(place, scheme));
  if ((parts.host === "" && /[@:]/.test(authority)) || (scheme === "file" && parts.port !== "")) {
    throw new TypeError("it has no host");
  }
  parts.path = path === null && !isSpecial(scheme) ? [] : segments(path ?? "", scheme);
  return parts;
}

const encoded = (text = "") => percentEncode(text, SETS.user);

/** A host, and a port if there is one. */
export function parsePlace(text, scheme) {
  const [, name, digits] = /^(\[[^\]]*\]|[^:]*)(?::([0-9]*))?$/.exec(text) ?? [];
  if (name === undefined) throw new TypeError("its host or its port is none");
  const empty = name === "" && (scheme === "file" || !isSpecial(scheme));
  const host = empty ? "" : parseHost(name, isSpecial(scheme));
  if (host === undefined) throw new TypeError(`its host \`${name}\` is none`);
  return { host: scheme === "file" && host === "localhost" ? "" : host, port: parsePort(digits, scheme) };
}

/** A port in its usual form, which is empty for that of the scheme. */
export function parsePort(digits, scheme) {
  if (!digits) return "";
  const port = Number(digits);
  if (port > 65535) throw new TypeError(`there is no port ${digits}`);
  return String(port) === SPECIAL[scheme] ? "" : String(port);
}

/** The segments of a path, without those that stand for others. */
export function segments(text, scheme, before = []) {
  const all = [...before];
  const given = (isSpecial(scheme) ? text.replaceAll("\\", "/") : text).split("/");
  for (const [at, segment] of given.entries()) {
    const dots = segment.replace(/%2e/gi, ".");
    if (dots === "..") all.pop();
    else if (dots !== ".") all.push(percentEncode(segment, SETS.path));
    if (at === given.length - 1 && (dots === ".." || dots === ".")) all.push("");
  }
  return all;
}

export const place = ({ host, port }) => (port === "" ? host : `${host}:${port}`);

export function pathname({ path }) {
  return typeof path === "string" ? path : path.map((segment) => `/${segment}`).join("");
}

export function serialize(parts) {
  const { scheme, username, password, host, path, query, fragment } = parts;
  const secret = password && `:${password}`;
  const user = username || password ? `${username}${secret}@` : "";
  // Without it, a path that begins with two slashes would be an authority.
  const guard = host === null && path[0] === "" && path.length > 1 && typeof path !== "string" ? "/." : "";
  const where = host === null ? guard : `//${user}${place(parts)}`;
  const after = (query === null ? "" : `?${query}`) + (fragment === null ? "" : `#${fragment}`);
  return `${scheme}:${where}${pathname(parts)}${after}`;
}
