"""The activity of a space, day by day."""

from hippocampe.engine.corpus import Corpus
from hippocampe.language.datetimes import as_zone, latest_days
from hippocampe.retrieval.log import RetrievalBuffer, flush
from hippocampe.store import activity as rows
from hippocampe.types import Day, Scope
from hippocampe.validation import MAX_DAYS, check_whole


def activity(corpus: Corpus, buffer: RetrievalBuffer, *, scope: Scope, days: int = 30) -> list[Day]:
    """Count what happened in the space on each of the latest days up to today, oldest first.

    Days are those of the setting `timezone`, with those on which nothing happened.

    Args:
        scope: The space.
        days: The number of days, 1 to 366, today included.

    Raises:
        InvalidInput: `days` is not a whole number from 1 to 366.
    """
    check_whole("days", days, most=MAX_DAYS)
    zone = as_zone(corpus.settings.of(scope.space).timezone)
    calendar = latest_days(corpus.store.now(), zone, days)
    bounds = [(start, stop) for _, start, stop in calendar]
    flush(corpus.store, buffer)
    with corpus.store.read() as connection:
        learnt = rows.learnt(connection, scope.space, bounds)
        messages = rows.messages(connection, scope.space, bounds)
        injected = rows.injected(connection, scope.space, bounds)
        took = rows.took(connection, scope.space, bounds)
    memories = [0] * days
    categories: list[dict[str, int]] = [{} for _ in range(days)]
    for number, collection, category, many in learnt:
        memories[number] += many
        if category is not None:
            categories[number][f"{collection}/{category}"] = many
    return [
        Day(
            date,
            memories[number],
            messages.get(number, 0),
            *injected.get(number, (0, 0)),
            *took.get(number, (None, None)),
            categories[number],
        )
        for number, (date, _, _) in enumerate(calendar)
    ]
