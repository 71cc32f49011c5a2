"""A mapping that keeps what was set last."""

from hippocampe.system.recent import Recent


def test_the_item_set_longest_ago_is_dropped() -> None:
    kept = Recent[str, int](2, [("a", 1), ("b", 2)])
    kept["a"] = 3
    kept["c"] = 4
    assert list(kept.items()) == [("a", 3), ("c", 4)]


def test_no_more_items_are_taken_than_it_keeps() -> None:
    assert list(Recent[int, int](2, [(number, number) for number in range(5)])) == [3, 4]
