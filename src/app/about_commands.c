/* about_commands.c - what the program says of itself. */
#include <stdio.h>

#include "api/openapi.h"
#include "app/command.h"

int run_openapi(struct invocation *in)
{
    struct buf text;

    (void)in;
    buf_init(&text, MIB(16));
    openapi_write(&text);
    (void)fwrite(text.data, 1, text.len, stdout);
    buf_done(&text);
    return EXIT_DONE;
}

int run_version(struct invocation *in)
{
    if (in->json)
        (void)printf("{\"version\":\"%s\"}\n", MUSTER_VERSION);
    else
        (void)printf("muster %s\n", MUSTER_VERSION);
    return EXIT_DONE;
}
