"""Token counts out of any provider's usage object.

The service stores four disjoint counts: input, output, cache read, cache write, and each report
says that its input is without cached tokens. Providers differ:

| Usage of                              | Cached tokens are part of the input count |
|---------------------------------------|-------------------------------------------|
| OpenAI (both APIs), LiteLLM, LangChain, Gemini | yes                              |
| Anthropic, Bedrock                    | no                                        |

Objects are recognised by the names of their fields, never by their type, so that no provider's
library is needed here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict, Iterable, Mapping, Optional

from .values import INT_MAX, integer

# Names of the same count in usage objects; the first that is there is taken.
INCLUSIVE_INPUT = ("prompt_tokens", "prompt_token_count")
INPUT = ("input_tokens", "inputTokens")
OUTPUT = ("output_tokens", "completion_tokens", "outputTokens", "candidates_token_count")
CACHE_READ = (
    "cache_read_input_tokens",
    "cacheReadInputTokens",
    "cached_content_token_count",
    "cache_read_tokens",
)
CACHE_WRITE = ("cache_creation_input_tokens", "cacheWriteInputTokens", "cache_write_tokens")
DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
DETAIL_READ = ("cached_tokens", "cache_read")
DETAIL_WRITE = ("cache_creation", "cache_write_tokens", "cache_creation_tokens")
THOUGHTS = ("thoughts_token_count",)  # Gemini counts them beside the output


@dataclass
class Tokens:
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    calls: int = 0

    def add(self, other: Tokens) -> None:
        for name, more in other.counts().items():
            setattr(self, name, min(getattr(self, name) + more, INT_MAX))

    def counts(self) -> Dict[str, int]:
        return asdict(self)


def field(source: Any, name: str) -> Any:
    if isinstance(source, Mapping):
        return source.get(name)
    return getattr(source, name, None)


def count(source: Any, names: Iterable[str]) -> Optional[int]:
    """The first of `names` that holds a number in `source`."""
    for name in names:
        value = field(source, name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return integer(value, least=0)
    return None


def details_of(usage: Any) -> Any:
    return next(
        (found for found in (field(usage, name) for name in DETAILS) if found is not None), None
    )


def tokens_of(usage: Any, calls: int = 1) -> Tokens:
    """The four disjoint counts of a usage object or mapping; zeros for what it does not have."""
    details = details_of(usage)
    read = count(details, DETAIL_READ) or count(usage, CACHE_READ) or 0
    written = count(details, DETAIL_WRITE) or count(usage, CACHE_WRITE) or 0
    entered = count(usage, INCLUSIVE_INPUT)
    inclusive = entered is not None or details is not None
    if entered is None:
        entered = count(usage, INPUT) or 0
    if inclusive and entered >= read + written:  # fewer: this provider counts them apart after all
        entered -= read + written
    left = (count(usage, OUTPUT) or 0) + (count(usage, THOUGHTS) or 0)
    return Tokens(entered, left, read, written, integer(calls, least=0) or 0)


def usage_of(response: Any) -> Any:
    """The usage inside a response: `usage`, else LangChain's and Gemini's `usage_metadata`."""
    found = field(response, "usage")
    return found if found is not None else field(response, "usage_metadata")


def model_of(response: Any) -> Optional[str]:
    found = field(response, "model") or field(response, "model_version")
    return found if isinstance(found, str) else None
