"""What Python itself imports only when it is used.

A component holds what was imported while it was built, and no files to import more from. The standard library
puts off some imports until a function is called, `Counter.most_common` and `datetime.strptime` for example,
and so does Python for the names of encodings. Those that many plugins meet are imported here; they cost
nothing in a call.
"""

from contextlib import suppress
from importlib import import_module

_LIBRARY = (
    "_strptime",
    "copy",
    "heapq",
    "locale",
    "stringprep",
    "traceback",
    "unicodedata",
    "warnings",
    "weakref",
)
_ENCODINGS = (
    "ascii",
    "cp1250",
    "cp1251",
    "cp1252",
    "idna",
    "iso8859_15",
    "iso8859_2",
    "koi8_r",
    "latin_1",
    "punycode",
    "unicode_escape",
    "utf_16",
    "utf_16_be",
    "utf_16_le",
    "utf_32",
    "utf_32_be",
    "utf_32_le",
    "utf_8_sig",
)

for _name in (*_LIBRARY, *(f"encodings.{encoding}" for encoding in _ENCODINGS)):
    with suppress(ImportError):
        import_module(_name)
