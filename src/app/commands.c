/* commands.c - the serve command, and commands that print information about the program. */
#include "app/assemble.h"

#include <stdio.h>

#include "api/openapi.h"
#include "api/route.h"
#include "cli/command.h"
#include "cli/help.h"
#include "features/access/shapes.h"

/* Prints the output of `write`. */
static int print_page(void (*write)(struct buf *out))
{
    BUF_SCOPED(text, MIB(16));

    write(&text);
    (void)fwrite(text.data, 1, text.len, stdout);
    return EXIT_DONE;
}

static void write_openapi(struct buf *out)
{
    struct route_table table;

    route_table_init(&table, features);
    openapi_write(&table, out);
    route_table_done(&table);
}

static int openapi_run(struct invocation *in)
{
    (void)in;
    return print_page(write_openapi);
}

static int settings_run(struct invocation *in)
{
    return print_page(in->json ? settings_print_json : settings_print_page);
}

static int version_run(struct invocation *in)
{
    (void)printf(in->json ? "{\"version\":\"%s\"}\n" : "muster %s\n", in->program->version);
    return EXIT_DONE;
}

/* clang-format off */
static const struct command app_commands[] = {
    { "serve", NULL,
      .help = "serve the API and the portal until SIGTERM",
      .examples = "muster serve --data /var/lib/muster --listen 127.0.0.1:8080\n"
                  "muster serve --database postgresql://muster@db/muster",
      .shows_settings = true,
      .run = serve_run },
    { "completion", NULL, .args = { { "shell", OPTION_WORD, "bash|zsh", .help = "the shell" } },
      .help = "print a script that lets the shell complete commands, options and files",
      .examples = "source <(muster completion bash)\n"
                  "source <(muster completion zsh)",
      .run = completion_run },
    { "man", NULL,
      .help = "print the manual page muster(1)",
      .examples = "muster man > /usr/local/share/man/man1/muster.1\n"
                  "muster man | man -l -",
      .run = man_run },
    { "openapi", NULL,
      .help = "print the OpenAPI document",
      .examples = "muster openapi > openapi.json",
      .run = openapi_run },
    { "settings", NULL,
      .help = "print the reference page of the settings",
      .examples = "muster settings > SETTINGS.md",
      .run = settings_run },
    { "version", NULL,
      .help = "print the version",
      .examples = "muster version --json",
      .run = version_run },
    { 0 },
};
/* clang-format on */

const struct program app_program = {
    .version = muster_version,
    .features = features,
    .commands = app_commands,
    .local = &assemble_local,
    .is_slug = admin_is_slug,
};
