/* mem.c - heap memory; running out aborts the process. */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void *mem_new(size_t size)
{
    void *memory = calloc(1, size);

    if (memory == NULL)
        err_die("out of memory (%zu bytes)", size);
    return memory;
}

void *mem_resize(void *memory, size_t size)
{
    void *resized = realloc(memory, size);

    if (resized == NULL)
        err_die("out of memory (%zu bytes)", size);
    return resized;
}

char *mem_strdup(const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(mem_new(size), text, size);
}
