/* shape.h - a shape: one const table that reads, checks, writes and documents a struct.
 *
 * A shape is read from JSON, from a query string or from path parameters into
 * a typed struct; it is written back as JSON; and it prints itself as JSON
 * Schema for OpenAPI. table.h has the words to write one.
 *
 * Thread-safe: tables are const.
 */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/base.h"
#include "base/buf.h"
#include "base/str.h"

struct shape;
struct problems; /* of a request, in order: problems.h */

/* Values that may be null. */
struct opt_int {
    bool has;
    int64_t value;
};

struct opt_bool {
    bool has;
    bool value;
};

/* Elements of a nested shape, back to back, each `shape->size` bytes; or struct str for lists of
 * strings. */
struct list {
    void *items;
    size_t n;
};

/* What most lists answer (LIST_SHAPE() in table.h). */
struct listing {
    struct list list;
    struct str next; /* cursor of the next page; null on the last, and of a list without pages */
};

/* How a member is stored in its struct. In comments: the C type, and null. */
enum field_type {
    T_STR,       /* struct str; STR_NULL is null */
    T_UUID,      /* struct str, canonical text */
    T_ENUM,      /* int, index into choices; -1 is null */
    T_TIME,      /* int64_t, microseconds since 1970 UTC; TIME_NULL is null */
    T_INT,       /* int64_t */
    T_OPT_INT,   /* struct opt_int */
    T_BOOL,      /* bool */
    T_OPT_BOOL,  /* struct opt_bool */
    T_NUMBER,    /* double; NaN is null */
    T_JSON,      /* struct str, compact JSON text of any value; STR_NULL is null */
    T_OBJECT,    /* struct str, compact JSON text of any object; STR_NULL is null */
    T_DICT_STR,  /* struct str, compact JSON text of an object of strings */
    T_DICT_NUM,  /* struct str, compact JSON text of an object of numbers */
    T_LIST_STR,  /* struct list of struct str */
    T_LIST_TEXT, /* struct str, compact JSON text of an array of strings */
    T_VALUES,    /* struct list of struct named_value: object of number, integer or string */
    T_POINTS,    /* struct list of struct list of struct named_value */
    T_BY,        /* struct list of struct str: a string or an array of strings */
    T_DIGEST,    /* struct sha256: of rows of the database only */
    T_SHAPE,     /* pointer to a nested struct, NULL is null */
    T_LIST,      /* struct list of a nested shape */
};

#define TIME_NULL INT64_MIN

enum value_kind { VALUE_INT, VALUE_REAL, VALUE_STR };

struct named_value {
    struct str name;
    enum value_kind kind;
    int64_t integer;
    double real; /* also set for VALUE_INT */
    struct str string;
};

enum field_flags {
    F_REQUIRED = 1, /* must be present in a request; always present in an answer */
    F_NULL = 2,     /* may be null */
    F_OMIT = 4,     /* in an answer: left out when null (a list: without items), instead of null */
    F_OMIT_EMPTY = 8, /* in an answer: an empty T_STR is left out */
};

struct field {
    const char *name;
    enum field_type type;
    size_t offset;
    int flags;
    uint32_t min, max;          /* code points (T_STR), max also entries or items; 0: no limit */
    int64_t least, most;        /* T_INT, T_OPT_INT: bounds when least < most */
    const char *absent;         /* JSON text of the default, without escapes; NULL: null */
    const char *const *choices; /* T_ENUM, and T_STR with fixed values: ends in NULL. Of a
                                 * T_LIST_STR: of its items, which the shape's rules check */
    const char *pattern;        /* T_STR: what a rule checks, as a regular expression */
    const struct shape *nested; /* T_SHAPE, T_LIST */
    const char *doc;
    /* T_STR, of a shape with row_rules: checks a text beyond the table and may replace it. What is
     * wrong with it, or NULL. Not called for null. */
    const char *(*rule)(struct str *text, struct arena *arena);
};

struct shape {
    const char *name; /* the schema's name in OpenAPI */
    const struct field *fields;
    size_t n_fields;
    size_t size; /* of the struct it fills */
    const char *doc;
    const char *example; /* EXAMPLE() in table.h; what it leaves out is derived: example.c */
    bool secret;         /* holds a password or another secret: problems do not echo input */
    bool row_rules;      /* rows have rules of their own, run after the table has accepted all */
    /* Rules beyond the table and the rows, run after both; may be NULL. `problems` knows
     * the path to the value (problems_add_rule adds below it). */
    void (*rules)(void *value, struct arena *arena, struct problems *problems);
};

/* Each returns 0 and fills `ret` (shape->size bytes, strings in the arena or borrowed from the
 * input), or -1 with at least one problem (but see list_max in problems.h). */
int shape_read_json(const struct shape *shape, struct str body, struct arena *arena, void *ret,
                    struct problems *problems) MUST_CHECK;

/* `query` as sent, not decoded. */
int shape_read_query(const struct shape *shape, struct str query, struct arena *arena, void *ret,
                     struct problems *problems) MUST_CHECK;

/* A segment of a path with percent escapes decoded and invalid UTF-8 replaced by U+FFFD. */
struct str shape_decode_segment(struct str s, struct arena *arena);

/* The path's parameters by name, decoded. */
struct path_values {
    const struct str *names, *values;
    size_t n;
};

int shape_read_path(const struct shape *shape, const struct path_values *path, struct arena *arena,
                    void *ret, struct problems *problems) MUST_CHECK;

/* The entries of a stored T_DICT_NUM or T_DICT_STR, as T_VALUES has them. */
struct list shape_parse_values(struct str object, struct arena *arena);

/* The struct as compact JSON, members in table order. */
void shape_write_json(const struct shape *shape, const void *value, struct buf *out);

/* A member that is not null; `from` is where it is. */
void shape_write_member(const struct field *field, const void *from, struct buf *out);

/* A list of struct named_value as an object. */
void shape_write_values(const struct list *list, struct buf *out);

/* CSV (RFC 4180): CRLF, quotes where needed. Null is an empty cell, what is nested is JSON text. A
 * text that a spreadsheet would take for a formula (it begins with = + - @ TAB or CR) gets an
 * apostrophe before it; numbers never do. */

/* The names of the members. */
void csv_write_head(const struct shape *shape, struct buf *out);

/* One line. */
void csv_write_row(const struct shape *shape, const void *value, struct buf *out);

/* Its JSON Schema (OpenAPI 3.1) as a compact JSON object; nested shapes as $ref into
 * #/components/schemas. */
void shape_write_schema(const struct shape *shape, struct buf *out);
