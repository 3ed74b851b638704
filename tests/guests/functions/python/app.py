"""Evaluates expressions, for any host that calls functions. componentize-py makes a component of it, without an SDK."""

import json

import wit_world
from componentize_py_types import Err


class WitWorld(wit_world.WitWorld):
    def eval(self, expression: str) -> str:
        try:
            return json.dumps(eval(expression, {}))
        except Exception as error:
            raise Err(f"{type(error).__name__}: {error}")
