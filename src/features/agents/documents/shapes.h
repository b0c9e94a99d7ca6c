/* shapes.h - an agent's free-form configuration document and its versions.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include "shape/shape.h"

enum { DOCUMENT_MAX_BYTES = 1 << 20 };

/* In the order in which the store numbers them. */
enum document_format { DOCUMENT_TEXT, DOCUMENT_MARKDOWN, DOCUMENT_JSON, DOCUMENT_YAML };
extern const char *const document_format_names[];

struct document_set {
    struct str document;
    int format;                  /* enum document_format */
    struct opt_int base_version; /* the version that was edited; null: not checked */
};

/* One version with its text. */
struct document {
    struct str agent_name;
    struct str format; /* text, markdown, json, yaml */
    struct str document;
    int64_t version;
    int64_t updated_at;
    struct str author;
};

/* One version without its text. */
struct document_version {
    int64_t version;
    struct str format;
    int64_t bytes;
    int64_t updated_at;
    struct str author;
};

struct document_history {
    struct str agent_name;
    struct list versions; /* of struct document_version, newest first */
    struct opt_int next;  /* the `before` of the next page */
};

struct document_diff {
    struct str agent_name;
    int64_t from, to;
    struct str diff;
};

struct history_query {
    int64_t limit;
    struct opt_int before;
};

struct diff_query {
    int64_t from, to;
};

struct document_version_path {
    struct str slug, agent_name;
    int64_t version;
};

extern const struct shape document_set_shape, document_shape, document_version_shape,
    document_history_shape, document_diff_shape, history_query_shape, diff_query_shape,
    document_version_path_shape;
