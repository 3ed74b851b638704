"""Loads a plugin's sources anew in each instance, while `plugport dev` serves it.

Building a component takes seconds, and so does compiling it. So `plugport dev` builds one whose exports are those of
this module, and gives later versions of the plugin's own modules to it as data, under a key of `wasi:config` that no
operator can set. Without such data the component serves the modules that it was built with.

Everything else, the interpreter, this package and the libraries, is as it was built. What was not imported then is
missing, and files are not there. Then the plugin has to be built again, which the first words of the error say.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import linecache
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any

from . import completions, host, middlewares, prompts, resources, tools
from .errors import Internal

_KEY = "plugport:dev-sources"

# How the errors of `_load` begin. `plugport dev` reads it.
_FAILED = "the sources cannot be loaded:\n"
_NEEDS_BUILD = "the plugin has to be built again:\n"

_EXPORTS = {
    "Tools": ("list_tools", "call_tool"),
    "Resources": ("list_resources", "list_resource_templates", "read_resource"),
    "Prompts": ("list_prompts", "get_prompt"),
    "Completions": ("complete",),
}

_NEVER_OWN = ("plugport_sdk", "wit_world", "componentize_py")


def exports(app: str) -> tuple[type[Any], ...]:
    """The classes of a plugin whose module is `app`. They pass on each call to those of the present sources."""
    built = importlib.import_module(app)
    names = [name for name in _EXPORTS if hasattr(built, name)]
    plugin = _Plugin(app, _instances(built, names), _own_modules(app, built))
    return tuple(_forwarding(plugin, name, functions) for name, functions in _EXPORTS.items())


def _instances(module: ModuleType, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(module, name)() for name in names}


def _own_modules(app: str, built: ModuleType) -> list[str]:
    """The modules that were imported from the plugin's folder."""
    parts = app.count(".") + (2 if hasattr(built, "__path__") else 1)
    folder = os.path.abspath(built.__file__ or "").rsplit("/", parts)[0] + "/"

    def is_own(name: str, module: ModuleType) -> bool:
        places = [getattr(module, "__file__", None) or "", *(getattr(module, "__path__", None) or ())]
        return not name.startswith(_NEVER_OWN) and any(
            os.path.abspath(place).startswith(folder) for place in places if place
        )

    return [name for name, module in list(sys.modules.items()) if is_own(name, module)]


def _forwarding(plugin: _Plugin, name: str, functions: Sequence[str]) -> type[Any]:
    def forward(function: str) -> Callable[..., Any]:
        return lambda _self, *args: getattr(plugin.present()[name], function)(*args)

    return type(name, (), {function: forward(function) for function in functions})


class _Plugin:
    """The instances of the exported classes: those that were built, or those of the sources that `dev` gives."""

    def __init__(self, app: str, built: dict[str, Any], own: list[str]) -> None:
        self._app, self._built, self._own = app, built, own
        self._present: dict[str, Any] | None = None

    def present(self) -> dict[str, Any]:
        if self._present is None:
            text = host.interface("config_store", "config").get(_KEY)
            self._present = self._load(json.loads(text)) if text else self._built
        return self._present

    def _load(self, files: Mapping[str, str]) -> dict[str, Any]:
        try:
            return self._instances_of(files)
        except (ImportError, OSError) as error:  # `from xml import sax` raises no more than an ImportError.
            raise host.wit_error(Internal(_NEEDS_BUILD + _told(error))) from None
        except BaseException as error:  # Whatever is not caught ends the instance without a word.
            raise host.wit_error(Internal(_FAILED + _told(error))) from None

    def _instances_of(self, files: Mapping[str, str]) -> dict[str, Any]:
        for name in self._own:
            sys.modules.pop(name, None)
        for found in (tools.found, resources.found, prompts.found, completions.found, middlewares.found):
            found.clear()  # type: ignore[attr-defined]
        finder = _Sources(files)
        sys.meta_path.insert(0, finder)
        try:
            with host.building_again():
                # Sources without a class that the component exports are a mistake, which is told.
                return _instances(importlib.import_module(self._app), self._built)
        finally:
            # As in the component of `plugport build`, a call cannot import what was not imported before.
            sys.meta_path.remove(finder)


class _Sources(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds and loads modules among texts, by the paths of their files."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        file = self._file(fullname)
        if file is not None:
            package = file.endswith("/__init__.py")
            spec = importlib.machinery.ModuleSpec(fullname, self, origin=file, is_package=package)
            spec.has_location = True
            return spec
        folder = fullname.replace(".", "/") + "/"
        if any(file.startswith(folder) for file in self._files):
            return importlib.machinery.ModuleSpec(fullname, None, is_package=True)
        return None

    def _file(self, fullname: str) -> str | None:
        path = fullname.replace(".", "/")
        return next((file for file in (f"{path}/__init__.py", f"{path}.py") if file in self._files), None)

    def get_source(self, fullname: str) -> str:
        return self._files[self._file(fullname) or ""]

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_source(fullname), self._file(fullname) or "")

    def is_package(self, fullname: str) -> bool:
        return (self._file(fullname) or "").endswith("/__init__.py")


def _told(error: BaseException) -> str:
    """The error as Python tells it, without the frames of this module and of the import system."""
    linecache.clearcache()
    told = traceback.TracebackException.from_exception(error)
    one: traceback.TracebackException | None = told
    while one is not None:
        one.stack[:] = [frame for frame in one.stack if not _is_ours(frame.filename)]
        one = one.__cause__ or one.__context__
    return "".join(told.format()).rstrip()


def _is_ours(file: str) -> bool:
    return file == __file__ or "importlib" in file
