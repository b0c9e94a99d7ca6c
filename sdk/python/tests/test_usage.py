"""Every provider's usage becomes four disjoint counts."""

from types import SimpleNamespace as Object

import pytest
from muster import tokens_of

# Usage, and input, output, cache read, cache write.
CASES = {
    "openai chat": (
        Object(prompt_tokens=100, completion_tokens=20,
               prompt_tokens_details=Object(cached_tokens=60)),
        (40, 20, 60, 0)),
    "openai chat, nothing cached": (
        Object(prompt_tokens=100, completion_tokens=20, prompt_tokens_details=None),
        (100, 20, 0, 0)),
    "openai responses": (
        {"input_tokens": 100, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 60}},
        (40, 20, 60, 0)),
    "anthropic": (
        Object(input_tokens=10, output_tokens=5, cache_read_input_tokens=70,
               cache_creation_input_tokens=30),
        (10, 5, 70, 30)),
    "litellm for anthropic": (
        Object(prompt_tokens=110, completion_tokens=5, cache_read_input_tokens=70,
               cache_creation_input_tokens=30, prompt_tokens_details=Object(cached_tokens=70)),
        (10, 5, 70, 30)),
    "langchain": (
        {"input_tokens": 110, "output_tokens": 5,
         "input_token_details": {"cache_read": 70, "cache_creation": 30}},
        (10, 5, 70, 30)),
    "gemini": (
        Object(prompt_token_count=50, candidates_token_count=9, cached_content_token_count=20,
               thoughts_token_count=4),
        (30, 13, 20, 0)),
    "bedrock": (
        {"inputTokens": 7, "outputTokens": 3, "cacheReadInputTokens": 90},
        (7, 3, 90, 0)),
    "input below cache: counted apart": (
        {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 60}},
        (5, 0, 60, 0)),
    "our own names": (
        {"input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4},
        (1, 2, 3, 4)),
    "nothing": (None, (0, 0, 0, 0)),
    "nonsense": (Object(prompt_tokens="many"), (0, 0, 0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_counts_are_disjoint(case):
    usage, wanted = CASES[case]
    found = tokens_of(usage)
    assert wanted == (
        found.input_tokens,
        found.output_tokens,
        found.cache_read_tokens,
        found.cache_write_tokens,
    )
