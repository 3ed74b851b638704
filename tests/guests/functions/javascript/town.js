// The time and the weather of a town, for any host that calls functions: componentize-qjs makes a component of it, and
// no SDK is used.

import { get } from "wasi:config/store@0.2.0-draft";

export function getCurrentTime() {
  return new Date().toISOString();
}

export function getWeather(city) {
  const unit = get("unit");
  if (unit == null) throw "the operator has set no unit";
  return `20 degrees ${unit} in ${city}`;
}
