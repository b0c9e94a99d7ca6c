/* fuzz_gzip.c - any bytes as a compressed body: the same outcome in any pieces, never beyond the
 * limit. */
#include "fuzz.h"
#include "http/parser.h"

enum { BODY_MAX = 65536 };

/* Adds the input in pieces of `step` bytes; the verdict that ends it. */
static enum http_body_verdict inflate_in(struct str input, size_t step, struct http_body *body)
{
    http_body_begin(body, CODING_GZIP);
    while (input.len > 0) {
        size_t n = step < input.len ? step : input.len;
        enum http_body_verdict verdict = http_body_add(body, str_from(input.data, n), BODY_MAX);

        FUZZ_CHECK(body->bytes.len <= BODY_MAX);
        if (verdict != BODY_FINE)
            return verdict;
        input = str_from(input.data + n, input.len - n);
    }
    return http_body_end(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = str_from((const char *)data, size);
    struct http_body whole, pieces;
    enum http_body_verdict verdict;
    size_t step = 1 + fuzz_pick(&input, 64);

    http_body_init(&whole);
    http_body_init(&pieces);
    verdict = inflate_in(input, SIZE_MAX, &whole);
    FUZZ_CHECK(inflate_in(input, step, &pieces) == verdict);
    if (verdict == BODY_FINE)
        FUZZ_CHECK(str_eq(buf_str(&whole.bytes), buf_str(&pieces.bytes)));
    http_body_done(&whole);
    http_body_done(&pieces);
    return 0;
}
