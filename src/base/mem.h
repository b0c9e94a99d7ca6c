/* mem.h - heap memory; running out aborts the process.
 *
 * What a client may make us allocate is bounded before; running out then
 * means that the machine is out, and nothing sensible can be answered.
 *
 * Thread-safe.
 */
#pragma once
#include "base/base.h"

/* Zeroed; free() it. */
void *mem_new(size_t size) MUST_CHECK __attribute__((malloc));

/* Like realloc(). */
void *mem_resize(void *memory, size_t size) MUST_CHECK;

/* A copy of a C string; free() it. */
char *mem_strdup(const char *text) MUST_CHECK;

#define NEW(type) ((type *)mem_new(sizeof(type)))
