// Token counts out of any provider's usage object.
//
// The service stores four disjoint counts: input, output, cache read, cache write, and each report
// says that its input is without cached tokens. In the usage of OpenAI (both APIs), the Vercel AI SDK, LangChain and Gemini the input count includes cached
// tokens; in that of Anthropic and Bedrock it does not. Objects are recognised by the names of
// their fields.

import { attempt, integer } from "./values.js";

export interface Tokens {
    input_tokens: number;
    output_tokens: number;
    cache_read_tokens: number;
    cache_write_tokens: number;
    calls: number;
}

// Names of the same count in usage objects; the first that is there is taken.
const INCLUSIVE_INPUT = ["prompt_tokens", "promptTokenCount", "promptTokens"];
const INPUT = ["input_tokens", "inputTokens"];
const OUTPUT = [
    "output_tokens",
    "completion_tokens",
    "outputTokens",
    "candidatesTokenCount",
    "completionTokens",
];
const CACHE_READ = [
    "cache_read_input_tokens",
    "cacheReadInputTokens",
    "cachedContentTokenCount",
    "cache_read_tokens",
    "cacheReadTokens",
];
const CACHE_WRITE = [
    "cache_creation_input_tokens",
    "cacheWriteInputTokens",
    "cache_write_tokens",
    "cacheWriteTokens",
];
const INCLUSIVE_CACHE_READ = ["cachedInputTokens"]; // the Vercel AI SDK
const DETAILS = [
    "prompt_tokens_details",
    "input_tokens_details",
    "input_token_details",
    "inputTokenDetails",
];
const DETAIL_READ = ["cached_tokens", "cache_read", "cacheReadTokens"];
const DETAIL_WRITE = ["cache_creation", "cache_write_tokens", "cacheWriteTokens"];
const THOUGHTS = ["thoughtsTokenCount"]; // Gemini counts them beside the output

export const field = (source: unknown, name: string): unknown =>
    typeof source === "object" && source !== null
        ? attempt(() => (source as Record<string, unknown>)[name], undefined)
        : undefined;

/** The first of `names` that holds a number in `source`. */
function count(source: unknown, names: string[]): number | undefined {
    for (const name of names) {
        const value = field(source, name);
        if (typeof value === "number" || typeof value === "bigint") return integer(value, 0);
    }
    return undefined;
}

/** The four disjoint counts of a usage object; zeros for what it does not have. */
export function tokensOf(usage: unknown, calls = 1): Tokens {
    const details = DETAILS.map((name) => field(usage, name)).find((found) => found != null);
    const inclusiveRead = count(usage, INCLUSIVE_CACHE_READ);
    const read = count(details, DETAIL_READ) || inclusiveRead || count(usage, CACHE_READ) || 0;
    const written = count(details, DETAIL_WRITE) || count(usage, CACHE_WRITE) || 0;
    const prompt = count(usage, INCLUSIVE_INPUT);
    const inclusive = prompt !== undefined || details != null || inclusiveRead !== undefined;
    let entered = prompt ?? count(usage, INPUT) ?? 0;
    // fewer than were cached: this provider counts them apart after all
    if (inclusive && entered >= read + written) entered -= read + written;
    return {
        input_tokens: entered,
        output_tokens: (count(usage, OUTPUT) ?? 0) + (count(usage, THOUGHTS) ?? 0),
        cache_read_tokens: read,
        cache_write_tokens: written,
        calls: integer(calls, 0) ?? 1,
    };
}

export function addTokens(total: Tokens, more: Tokens): void {
    for (const key of Object.keys(total) as (keyof Tokens)[]) {
        total[key] = Math.min(total[key] + more[key], Number.MAX_SAFE_INTEGER);
    }
}

/** The usage inside a response: `usage`, else LangChain's and Gemini's. */
export const usageOf = (response: unknown): unknown =>
    field(response, "usage") ??
    field(response, "usage_metadata") ??
    field(response, "usageMetadata");

export function modelOf(response: unknown): string | undefined {
    const found = field(response, "model") ?? field(response, "modelVersion");
    return typeof found === "string" && found ? found : undefined;
}
