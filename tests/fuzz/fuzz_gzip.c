/* fuzz_gzip.c - any bytes as a compressed body: never beyond the limit, which may be met exactly.
 */
#include "fuzz.h"
#include "http/parser.h"

enum { BODY_MAX = 65536 };

static enum http_body_verdict inflate_up_to(struct str input, size_t max, size_t *ret)
{
    enum http_body_verdict verdict;
    struct buf out;

    buf_init(&out, max);
    verdict = http_inflate(input, &out, NULL);
    FUZZ_CHECK(out.len <= max);
    *ret = out.len;
    buf_done(&out);
    return verdict;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str input = str_from((const char *)data, size);
    size_t n, less;

    if (inflate_up_to(input, BODY_MAX, &n) != BODY_FINE)
        return 0;
    FUZZ_CHECK(inflate_up_to(input, n, &less) == BODY_FINE && less == n);
    if (n > 0)
        FUZZ_CHECK(inflate_up_to(input, n - 1, &less) == BODY_TOO_LARGE);
    return 0;
}
