/* shapes.c - the tables of documents and their versions. */
#include "features/agents/documents/shapes.h"

#include "shape/rule.h"
#include "shape/table.h"

const char *const document_format_names[] = { "text", "markdown", "json", "yaml", NULL };

static void check_document(void *value, struct arena *arena, struct problems *problems)
{
    const struct document_set *set = value;

    if (set->document.len > DOCUMENT_MAX_BYTES)
        rule_refuse_text(problems, arena, "document", set->document,
                         "A document has at most 1048576 bytes");
}

/* clang-format off */
#define MEMBER(m) m

#define OWNER struct document_set
static const struct field document_set_fields[] = {
    { STR(document),         .flags = F_REQUIRED, .doc = "At most 1 MiB." },
    { ENUM(format),          .absent = "\"text\"", .choices = document_format_names },
    { OPT_INT(base_version), .flags = F_NULL, .doc = "The version it was edited from (0: none): 409 when there is another by now. Null: not checked." },
};
#undef OWNER

#define OWNER struct document
static const struct field document_fields[] = {
    { STR(agent_name),  .flags = F_REQUIRED },
    { STR(format),      .flags = F_REQUIRED, .choices = document_format_names },
    { STR(document),    .flags = F_REQUIRED },
    { INT(version),     .flags = F_REQUIRED },
    { TIME(updated_at), .flags = F_REQUIRED },
    { STR(author),      .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct document_version
static const struct field document_version_fields[] = {
    { INT(version),     .flags = F_REQUIRED },
    { STR(format),      .flags = F_REQUIRED, .choices = document_format_names },
    { INT(bytes),       .flags = F_REQUIRED },
    { TIME(updated_at), .flags = F_REQUIRED },
    { STR(author),      .flags = F_REQUIRED },
};
#undef OWNER

#define OWNER struct document_history
static const struct field document_history_fields[] = {
    { STR(agent_name),                        .flags = F_REQUIRED },
    { LIST(versions, document_version_shape), .flags = F_REQUIRED, .doc = "Newest first." },
    { OPT_INT(next),                          .flags = F_REQUIRED | F_NULL, .doc = "The before of the next page; null: that was all." },
};
#undef OWNER

#define OWNER struct document_diff
static const struct field document_diff_fields[] = {
    { STR(agent_name), .flags = F_REQUIRED },
    { INT(from),       .flags = F_REQUIRED },
    { INT(to),         .flags = F_REQUIRED },
    { STR(diff),       .flags = F_REQUIRED, .doc = "Lines in the unified form; empty: no difference." },
};
#undef OWNER

#define OWNER struct history_query
static const struct field history_query_fields[] = {
    { INT(limit),      .absent = "50", .least = 1, .most = 1000 },
    { OPT_INT(before), .flags = F_NULL, .least = 1, .most = INT64_MAX, .doc = "Versions older than this one." },
};
#undef OWNER

#define OWNER struct diff_query
static const struct field diff_query_fields[] = {
    { INT(from), .flags = F_REQUIRED, .least = 1, .most = INT64_MAX },
    { INT(to),   .flags = F_REQUIRED, .least = 1, .most = INT64_MAX },
};
#undef OWNER

#define OWNER struct document_version_path
static const struct field document_version_path_fields[] = {
    { STR(slug),       .flags = F_REQUIRED },
    { STR(agent_name), .flags = F_REQUIRED },
    { INT(version),    .flags = F_REQUIRED, .least = 1, .most = INT64_MAX },
};
#undef OWNER

#undef MEMBER
/* clang-format on */

const struct shape document_set_shape = {
    SHAPE_OF("DocumentSet", struct document_set, document_set_fields),
    .doc = "The document as it is to be.",
    .rules = check_document,
};

const struct shape document_shape = {
    SHAPE_OF("Document", struct document, document_fields),
    .doc = "One version of an agent's document.",
};

const struct shape document_version_shape = {
    SHAPE_OF("DocumentVersion", struct document_version, document_version_fields),
    .doc = "One version of an agent's document, without its text.",
};

const struct shape document_history_shape = {
    SHAPE_OF("DocumentHistory", struct document_history, document_history_fields),
    .doc = "The versions of an agent's document.",
};

const struct shape document_diff_shape = {
    SHAPE_OF("DocumentDiff", struct document_diff, document_diff_fields),
    .doc = "What changed between two versions.",
};

const struct shape history_query_shape = {
    SHAPE_OF("DocumentHistoryQuery", struct history_query, history_query_fields),
};

const struct shape diff_query_shape = {
    SHAPE_OF("DocumentDiffQuery", struct diff_query, diff_query_fields),
};

const struct shape document_version_path_shape = {
    SHAPE_OF("DocumentVersionPath", struct document_version_path, document_version_path_fields),
};
