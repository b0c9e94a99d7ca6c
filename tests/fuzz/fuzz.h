/* fuzz.h - what every fuzz target has in common.
 *
 * A target is one file fuzz_<name>.c that defines LLVMFuzzerTestOneInput(). In
 * ordinary builds replay.c feeds it tests/fuzz/corpus/<name>/; with
 * -DMUSTER_FUZZ=ON libFuzzer explores from there.
 */
#pragma once
#include <stdint.h>

#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that holds for every input. */
#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz_fail(#condition, __FILE__, __LINE__))

void fuzz_fail(const char *condition, const char *file, int line) __attribute__((noreturn));

/* An input that begins with a letter picks by it ('a' is 0), so that corpora stay valid when
 * something is added; any other first byte picks too. Takes the byte off `input`. */
size_t fuzz_pick(struct str *input, size_t n);
