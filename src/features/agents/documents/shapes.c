/* shapes.c - the shapes of documents and their versions. */
#include "features/agents/documents/shapes.h"

#include "shape/table.h"

const char *const document_format_names[] = { "text", "markdown", "json", "yaml", NULL };

static const char *document_rule(struct str *document, struct arena *arena)
{
    (void)arena;
    return document->len > DOCUMENT_MAX_BYTES ? "Should have at most 1048576 bytes" : NULL;
}

/* clang-format off */
SHAPE(document_set, "DocumentSet", (.doc = "A new version of the document.", .row_rules = true,
      .example = EXAMPLE({"document": "# Suppliers\nAsk before paying new ones.", "format": "markdown", "base_version": 6})),
    STR(document,         .rule = document_rule, .flags = F_REQUIRED, .doc = "At most 1 MiB."),
    ENUM(format,          .absent = "\"text\"", .choices = document_format_names, .doc = "Format."),
    OPT_INT(base_version, .flags = F_NULL, .doc = "Version that was edited (0: no document yet); 409 if it is no longer the latest. Null: not checked."));

SHAPE(document, "Document", (.doc = "One version of an agent's document.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "format": "markdown", "document": "# Suppliers\nAsk before paying new ones.", "version": 7, "author": "person:ada@example.com"})),
    STR(agent_name,  .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    STR(format,      .flags = F_REQUIRED, .choices = document_format_names, .doc = "Format."),
    STR(document,    .flags = F_REQUIRED, .doc = "The text."),
    INT(version,     .flags = F_REQUIRED, .doc = "Incremented with each edit."),
    TIME(updated_at, .flags = F_REQUIRED, .doc = "When it was last changed."),
    STR(author,      .flags = F_REQUIRED, .doc = "Who made the change: operator, person:<e-mail>, the same with token:<token_id> after it, or key:<key_id>."));

SHAPE(document_version, "DocumentVersion", (.doc = "One version of an agent's document, without its text.",
      .example = EXAMPLE({"version": 7, "format": "markdown", "bytes": 39, "author": "person:ada@example.com"})),
    INT(version,     .flags = F_REQUIRED, .doc = "Incremented with each edit."),
    STR(format,      .flags = F_REQUIRED, .choices = document_format_names, .doc = "Format."),
    INT(bytes,       .flags = F_REQUIRED, .doc = "Length of the text in bytes."),
    TIME(updated_at, .flags = F_REQUIRED, .doc = "When it was last changed."),
    STR(author,      .flags = F_REQUIRED, .doc = "Who made the change: operator, person:<e-mail>, the same with token:<token_id> after it, or key:<key_id>."));

SHAPE(document_history, "DocumentHistory", (.doc = "The versions of an agent's document.",
      .example = EXAMPLE({"agent_name": "invoice-reader"})),
    STR(agent_name,                        .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    LIST(versions, document_version_shape, .flags = F_REQUIRED, .doc = "Newest first."),
    OPT_INT(next,                          .flags = F_REQUIRED | F_NULL, .doc = "Value of before for the next page. Null: last page."));

SHAPE(document_diff, "DocumentDiff", (.doc = "The changes between two versions.",
      .example = EXAMPLE({"agent_name": "invoice-reader", "from": 6, "to": 7, "diff": "@@ -1 +1,2 @@\n # Suppliers\n+Ask before paying new ones.\n"})),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    INT(from,       .flags = F_REQUIRED, .doc = "The older version."),
    INT(to,         .flags = F_REQUIRED, .doc = "The newer version."),
    STR(diff,       .flags = F_REQUIRED, .doc = "Unified diff; empty: no difference."));

SHAPE(history_query, "DocumentHistoryQuery", (),
    INT(limit,      .absent = "50", .least = 1, .most = 1000, .doc = "How many items a page has at most."),
    OPT_INT(before, .flags = F_NULL, .least = 1, .most = INT64_MAX, .doc = "Only versions older than this one."));

SHAPE(diff_query, "DocumentDiffQuery", (.example = EXAMPLE({"from": 6, "to": 7})),
    INT(from, .flags = F_REQUIRED, .least = 1, .most = INT64_MAX, .doc = "Version to compare from."),
    INT(to,   .flags = F_REQUIRED, .least = 1, .most = INT64_MAX, .doc = "Version to compare to."));

SHAPE(document_version_path, "DocumentVersionPath", (.example = EXAMPLE({"slug": "acme", "agent_name": "invoice-reader", "version": 7})),
    STR(slug,       .flags = F_REQUIRED, .doc = "Slug of the tenant."),
    STR(agent_name, .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace."),
    INT(version,    .flags = F_REQUIRED, .least = 1, .most = INT64_MAX, .doc = "Version of the document, from 1."));
/* clang-format on */
