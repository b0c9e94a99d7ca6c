"""Generators as runs: `@agent.task` on a function that yields.

The run is open from the first item to the end, and is the current one only while the generator
works: between two items its caller works, perhaps in a run of its own.
"""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any, AsyncGenerator, Callable, Generator, Iterator

from .run import Run, working_in

if TYPE_CHECKING:
    from .agent import Agent


@contextlib.contextmanager
def opened(agent: Agent, title: str) -> Iterator[Run]:
    """A run that closes by how the block ends, and is not the current one in it."""
    run = agent.run(title)
    try:
        yield run
    except BaseException as error:
        run.__exit__(type(error), error, error.__traceback__)
        raise
    run.complete()


def in_run(agent: Agent, title: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        inner = function(*args, **kwargs)
        advance, given = inner.send, None
        with opened(agent, title) as run, contextlib.closing(inner):
            while True:
                try:
                    with working_in(run):
                        item = advance(given)
                except StopIteration as end:
                    return end.value
                try:
                    advance, given = inner.send, (yield item)
                except GeneratorExit:
                    raise
                except BaseException as error:
                    advance, given = inner.throw, error

    return generator


def in_run_async(agent: Agent, title: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **kwargs)
        advance, given = inner.asend, None
        with opened(agent, title) as run:
            try:
                while True:
                    try:
                        with working_in(run):
                            item = await advance(given)
                    except StopAsyncIteration:
                        return
                    try:
                        advance, given = inner.asend, (yield item)
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        advance, given = inner.athrow, error
            finally:
                await inner.aclose()

    return generator
