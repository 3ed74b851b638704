// Settings in memory, for tests: each TestClient has its own.

import { hostDouble } from "../host/double.js";

export const getOne = (key) => hostDouble().secrets.get(key) ?? hostDouble().settings.get(key);
export const getAll = () => hostDouble().settings;
