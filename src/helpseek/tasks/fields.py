"""Reading untrusted text and JSON: every mistake is a `UserError` that names the file and the key path."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from helpseek.errors import UserError, nearest


def read_text(path: Path) -> str:
    """The file's text, line ends untouched. Raises `UserError` when it cannot be read as UTF-8."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text (byte {error.start})") from None


def read_json(path: Path) -> object:
    """The JSON value in a file, a byte order mark allowed. Raises `UserError`."""
    return parse_json(read_text(path).removeprefix("\ufeff"), str(path))


def parse_json(text: str, where: str) -> object:
    """The JSON value in `text`. Raises `UserError` that starts with `where`."""
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{where}: not valid JSON ({error.msg}, line {error.lineno} column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not usable JSON ({error})") from None
    return value


def is_absent(value: object) -> bool:
    """Whether a value stands for none: null, or the NaN that pandas writes for it."""
    return value is None or value != value  # noqa: PLR0124 - NaN is the value that differs from itself


@dataclass(frozen=True, slots=True)
class Fields:
    """One JSON object of an input file, read key by key; `path` is where it sits in `file`, empty at the top."""

    file: str
    path: str
    content: Mapping[str, object]

    @staticmethod
    def of(value: object, file: str | Path, path: str = "") -> Fields:
        """Wrap an object. Raises `UserError` when `value` is not one."""
        if not isinstance(value, Mapping):
            raise UserError(f"{place(str(file), path)}: expected an object with keys, found {kind_of(value)}")
        return Fields(str(file), path, value)

    @staticmethod
    def read(file: Path) -> Fields:
        """The object in a JSON file. Raises `UserError`."""
        return Fields.of(read_json(file), file)

    def where(self, key: str) -> str:
        """`file: key path`, how an error message starts."""
        return place(self.file, self.below(key))

    def has(self, key: str) -> bool:
        """Whether the key is there with a value."""
        return not is_absent(self.content.get(key))

    def value(self, key: str) -> object:
        """The value of `key`. Raises `UserError` when it is missing or null."""
        if not self.has(key):
            state = "is null" if key in self.content else "is missing"
            hint = "" if key in self.content else nearest(key, map(str, self.content))
            raise UserError(f"{self.where(key)} {state}{hint}")
        return self.content[key]

    def text(self, key: str) -> str:
        """A string that holds more than white space, verbatim. Raises `UserError`."""
        value = checked_text(self.value(key), self.where(key))
        if not value.strip():
            raise UserError(f"{self.where(key)} is empty; expected text")
        return value

    def text_or(self, key: str, default: str) -> str:
        """A string, verbatim, or `default` when the key is missing or null. Raises `UserError` for another type."""
        return checked_text(self.content[key], self.where(key)) if self.has(key) else default

    def integer(self, key: str) -> int | None:
        """A whole number, or None when the key is missing or null. Raises `UserError` for another type."""
        if not self.has(key):
            return None
        value = self.content[key]
        if isinstance(value, bool) or not isinstance(value, int):
            raise UserError(f"{self.where(key)}: expected a whole number, found {kind_of(value)}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Strings given as a list, as a JSON string of a list, or as one bare string; none when missing or null.

        Blank items are dropped, as the reference reader does. Raises `UserError` for any other item.
        """
        if not self.has(key):
            return ()
        value = self.content[key]
        if isinstance(value, str):
            value = parse_json(value, self.where(key)) if value.lstrip().startswith("[") else [value]
        if not isinstance(value, list):
            raise UserError(f"{self.where(key)}: expected a list of strings, found {kind_of(value)}")
        items = (checked_text(item, self.where(f"{key}.{number}")) for number, item in enumerate(value))
        return tuple(item for item in items if item.strip())

    def child(self, key: str) -> Fields:
        """The object under `key`. Raises `UserError` when there is none."""
        return Fields.of(self.value(key), self.file, self.below(key))

    def below(self, key: str) -> str:
        """The key path of `key`."""
        return f"{self.path}.{key}" if self.path else key


def checked_text(value: object, where: str) -> str:
    """`value` as a string that UTF-8 can hold. Raises `UserError`."""
    if not isinstance(value, str):
        raise UserError(f"{where}: expected a string, found {kind_of(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"{where}: holds half a surrogate pair at character {error.start}; not valid text") from None
    return value


def place(file: str, path: str) -> str:
    """How an error message names a key path in a file."""
    return f"{file}: `{path}`" if path else file


def kind_of(value: object) -> str:
    """The JSON type of a value, in words."""
    if is_absent(value):
        return "null"
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)
