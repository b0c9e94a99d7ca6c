/* commands.c - agents' documents on the command line. */
#include <string.h>

#include "cli/request.h"
#include "features/agents/documents/shapes.h"
#include "features/agents/routes.h"

/* The format of --format, else of the file's extension. */
static int read_format(const char *given, const char *path)
{
    static const struct {
        const char *word;
        enum document_format format;
    } words[] = {
        { ".md", DOCUMENT_MARKDOWN }, { ".markdown", DOCUMENT_MARKDOWN },
        { ".json", DOCUMENT_JSON },   { ".yaml", DOCUMENT_YAML },
        { ".yml", DOCUMENT_YAML },    { "markdown", DOCUMENT_MARKDOWN },
        { "json", DOCUMENT_JSON },    { "yaml", DOCUMENT_YAML },
    };
    const char *word = given != NULL ? given : strrchr(path, '.');

    for (size_t i = 0; word != NULL && i < COUNT_OF(words); i++)
        if (strcmp(word, words[i].word) == 0)
            return (int)words[i].format;
    return DOCUMENT_TEXT;
}

static int document_set_bind(struct invocation *in, struct str *ret, struct error *err)
{
    const char *path = command_value(in, "file");
    struct document_set set = { .format = read_format(command_value(in, "format"), path) };

    if (request_file(in, path, DOCUMENT_MAX_BYTES, &set.document, err) != 0)
        return -1;
    if (utf8_valid_len(set.document) < set.document.len ||
        memchr(set.document.data, '\0', set.document.len) != NULL)
        return err_set(err, ERR_FORBIDDEN, "'%s' is not UTF-8 text", path);
    *ret = request_body(in, &document_set_shape, &set);
    return 0;
}

#define DOCUMENT "/api/v1/tenants/{tenant}/agents/{agent}/document"
#define AGENT_OPTION                                                                               \
    { "agent", OPTION_NAME, .required = true, .help = "agent that the document belongs to" }
#define VERSION_ARG(name_, value_, help_) { name_, OPTION_NUMBER, value_, .help = help_ }

/* clang-format off */
const struct command document_commands[] = {
    { "document", "set", .args = { { "file", OPTION_FILE, "FILE", .help = "text in UTF-8" } },
      .options = OPTIONS(TENANT_OPTION, AGENT_OPTION,
                         { "format", OPTION_WORD, "text|markdown|json|yaml", .help = "without it the ending of the file's name decides" }),
      .help = "set an agent's configuration document",
      .examples = "muster document set collector.yaml --tenant acme --agent collector",
      .method = METHOD_PUT, .path = DOCUMENT, .bind = document_set_bind,
      .answer = &document_shape, .line = "version {version} ({format}, {document#} bytes)" },
    { "document", "show",
      .options = OPTIONS(TENANT_OPTION, AGENT_OPTION, { "version", OPTION_NUMBER, .help = "an older version" }),
      .help = "print an agent's document",
      .examples = "muster document show --tenant acme --agent collector --version 3",
      .method = METHOD_GET, .path = DOCUMENT "{version?/versions/{version}}",
      .answer = &document_shape, .raw = "document" },
    { "document", "history", .options = OPTIONS(TENANT_OPTION, AGENT_OPTION),
      .help = "list the versions of an agent's document",
      .examples = "muster document history --tenant acme --agent collector",
      .method = METHOD_GET, .path = DOCUMENT "/versions?limit=1000", .next = "before",
      .answer = &document_history_shape, .list = "versions",
      .columns = COLUMNS({ "VERSION", .cell = "{version}" }, { "SET", .cell = "{updated_at}" }, { "FORMAT", .cell = "{format}" },
                         { "BYTES", .cell = "{bytes}" }, { "AUTHOR", .cell = "{author}" }) },
    { "document", "diff", .args = { VERSION_ARG("from", "FROM", "older version"), VERSION_ARG("to", "TO", "newer version") },
      .options = OPTIONS(TENANT_OPTION, AGENT_OPTION),
      .help = "show the changes between two versions",
      .examples = "muster document diff 2 3 --tenant acme --agent collector",
      .method = METHOD_GET, .path = DOCUMENT "/diff",
      .answer = &document_diff_shape, .raw = "diff" },
    { "document", "restore", .args = { VERSION_ARG("version", "VERSION", "version to restore") },
      .options = OPTIONS(TENANT_OPTION, AGENT_OPTION),
      .help = "make an old version the newest again",
      .examples = "muster document restore 2 --tenant acme --agent collector",
      .method = METHOD_POST, .path = DOCUMENT "/versions/{version}/restore",
      .answer = &document_shape, .line = "version {version} ({format}, {document#} bytes)" },
    { 0 },
};
/* clang-format on */
