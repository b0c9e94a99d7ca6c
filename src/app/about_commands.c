/* about_commands.c - what the program says of itself. */
#include <stdio.h>

#include "api/openapi.h"
#include "api/route.h"
#include "app/features.h"
#include "cli/command.h"

/* Prints what `write` makes. */
static int print_page(void (*write)(struct buf *out))
{
    struct buf text;

    buf_init(&text, MIB(16));
    write(&text);
    (void)fwrite(text.data, 1, text.len, stdout);
    buf_done(&text);
    return EXIT_DONE;
}

static void write_openapi(struct buf *out)
{
    struct route_table table;

    route_table_init(&table, features);
    openapi_write(&table, out);
    route_table_done(&table);
}

int run_openapi(struct invocation *in)
{
    (void)in;
    return print_page(write_openapi);
}

int run_settings(struct invocation *in)
{
    return print_page(in->json ? settings_print_json : settings_print_page);
}

int run_version(struct invocation *in)
{
    if (in->json)
        (void)printf("{\"version\":\"%s\"}\n", MUSTER_VERSION);
    else
        (void)printf("muster %s\n", MUSTER_VERSION);
    return EXIT_DONE;
}
