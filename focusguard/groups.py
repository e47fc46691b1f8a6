"""Task groups are an inner matter: who calls this library sees the error itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def single_error() -> Iterator[None]:
    """Let the one error of a task group through as itself; several stay a group."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error in a group of groups."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
