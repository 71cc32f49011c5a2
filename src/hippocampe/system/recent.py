"""A bounded mapping that keeps what was set last."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(OrderedDict[K, V]):
    """A mapping in the order of setting; beyond a number of items, the one set longest ago is dropped."""

    def __init__(self, most: int, items: Iterable[tuple[K, V]] = ()) -> None:
        self._most = most
        super().__init__(items)

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)
