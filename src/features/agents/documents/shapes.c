/* shapes.c - the shapes of documents and their versions. */
#include "features/agents/documents/shapes.h"

#include "shape/rule.h"
#include "shape/table.h"

const char *const document_format_names[] = { "text", "markdown", "json", "yaml", NULL };

static void check_document(void *value, struct arena *arena, struct problems *problems)
{
    const struct document_set *set = value;

    if (set->document.len > DOCUMENT_MAX_BYTES)
        rule_refuse_text(problems, arena, "document", set->document,
                         "Should have at most 1048576 bytes");
}

/* clang-format off */
#define OWNER struct document_set
SHAPE_BEGIN(document_set_shape)
    { STR(document),         .flags = F_REQUIRED, .doc = "At most 1 MiB." },
    { ENUM(format),          .absent = "\"text\"", .choices = document_format_names, .doc = "Format." },
    { OPT_INT(base_version), .flags = F_NULL, .doc = "Version that was edited (0: no document yet); 409 if it is no longer the latest. Null: not checked." },
SHAPE_END(document_set_shape, "DocumentSet", .doc = "A new version of the document.", .rules = check_document,
          .example = EXAMPLE({"document": "# Suppliers\nAsk before paying new ones.", "format": "markdown", "base_version": 6}));
#undef OWNER

#define OWNER struct document
SHAPE_BEGIN(document_shape)
    { STR(agent_name),  .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace." },
    { STR(format),      .flags = F_REQUIRED, .choices = document_format_names, .doc = "Format." },
    { STR(document),    .flags = F_REQUIRED, .doc = "The text." },
    { INT(version),     .flags = F_REQUIRED, .doc = "Incremented with each edit." },
    { TIME(updated_at), .flags = F_REQUIRED, .doc = "When it was last changed." },
    { STR(author),      .flags = F_REQUIRED, .doc = "Who made the change: operator, person:<e-mail>, the same with token:<token_id> after it, or key:<key_id>." },
SHAPE_END(document_shape, "Document", .doc = "One version of an agent's document.",
          .example = EXAMPLE({"agent_name": "invoice-reader", "format": "markdown", "document": "# Suppliers\nAsk before paying new ones.", "version": 7, "author": "person:ada@example.com"}));
#undef OWNER

#define OWNER struct document_version
SHAPE_BEGIN(document_version_shape)
    { INT(version),     .flags = F_REQUIRED, .doc = "Incremented with each edit." },
    { STR(format),      .flags = F_REQUIRED, .choices = document_format_names, .doc = "Format." },
    { INT(bytes),       .flags = F_REQUIRED, .doc = "Length of the text in bytes." },
    { TIME(updated_at), .flags = F_REQUIRED, .doc = "When it was last changed." },
    { STR(author),      .flags = F_REQUIRED, .doc = "Who made the change: operator, person:<e-mail>, the same with token:<token_id> after it, or key:<key_id>." },
SHAPE_END(document_version_shape, "DocumentVersion", .doc = "One version of an agent's document, without its text.",
          .example = EXAMPLE({"version": 7, "format": "markdown", "bytes": 39, "author": "person:ada@example.com"}));
#undef OWNER

#define OWNER struct document_history
SHAPE_BEGIN(document_history_shape)
    { STR(agent_name),                        .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace." },
    { LIST(versions, document_version_shape), .flags = F_REQUIRED, .doc = "Newest first." },
    { OPT_INT(next),                          .flags = F_REQUIRED | F_NULL, .doc = "Value of before for the next page. Null: last page." },
SHAPE_END(document_history_shape, "DocumentHistory", .doc = "The versions of an agent's document.",
          .example = EXAMPLE({"agent_name": "invoice-reader"}));
#undef OWNER

#define OWNER struct document_diff
SHAPE_BEGIN(document_diff_shape)
    { STR(agent_name), .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace." },
    { INT(from),       .flags = F_REQUIRED, .doc = "The older version." },
    { INT(to),         .flags = F_REQUIRED, .doc = "The newer version." },
    { STR(diff),       .flags = F_REQUIRED, .doc = "Unified diff; empty: no difference." },
SHAPE_END(document_diff_shape, "DocumentDiff", .doc = "The changes between two versions.",
          .example = EXAMPLE({"agent_name": "invoice-reader", "from": 6, "to": 7, "diff": "@@ -1 +1,2 @@\n # Suppliers\n+Ask before paying new ones.\n"}));
#undef OWNER

#define OWNER struct history_query
SHAPE_BEGIN(history_query_shape)
    { INT(limit),      .absent = "50", .least = 1, .most = 1000, .doc = "How many items a page has at most." },
    { OPT_INT(before), .flags = F_NULL, .least = 1, .most = INT64_MAX, .doc = "Only versions older than this one." },
SHAPE_END(history_query_shape, "DocumentHistoryQuery");
#undef OWNER

#define OWNER struct diff_query
SHAPE_BEGIN(diff_query_shape)
    { INT(from), .flags = F_REQUIRED, .least = 1, .most = INT64_MAX, .doc = "Version to compare from." },
    { INT(to),   .flags = F_REQUIRED, .least = 1, .most = INT64_MAX, .doc = "Version to compare to." },
SHAPE_END(diff_query_shape, "DocumentDiffQuery",
          .example = EXAMPLE({"from": 6, "to": 7}));
#undef OWNER

#define OWNER struct document_version_path
SHAPE_BEGIN(document_version_path_shape)
    { STR(slug),       .flags = F_REQUIRED, .doc = "Slug of the tenant." },
    { STR(agent_name), .flags = F_REQUIRED, .doc = "Name of the agent, unique in its workspace." },
    { INT(version),    .flags = F_REQUIRED, .least = 1, .most = INT64_MAX, .doc = "Version of the document, from 1." },
SHAPE_END(document_version_path_shape, "DocumentVersionPath",
          .example = EXAMPLE({"slug": "acme", "agent_name": "invoice-reader", "version": 7}));
#undef OWNER
/* clang-format on */
