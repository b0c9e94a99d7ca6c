/* fuzz.h - what every fuzz target has in common.
 *
 * A target is one file fuzz_<name>.c that defines LLVMFuzzerTestOneInput(). In
 * ordinary builds replay.c feeds it tests/fuzz/corpus/<name>/; with
 * -DMUSTER_FUZZ=ON libFuzzer explores from there.
 */
#pragma once
#include <stdint.h>

#include "base/str.h"
#include "shape/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that holds for every input. */
#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz_fail(#condition, __FILE__, __LINE__))

void fuzz_fail(const char *condition, const char *file, int line) __attribute__((noreturn));

/* A number below `n`, picked by the first byte ('a' is 0), which is taken off `input`. */
size_t fuzz_pick(struct str *input, size_t n);

/* The first line of an input names a shape, so that a corpus stays valid whatever shapes are added;
 * without a known name the first byte picks one. Either is taken off `input`. */
const struct shape *fuzz_pick_shape(struct str *input, const struct schema_set *shapes);
