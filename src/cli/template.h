/* template.h - lines for people, from an answer and what was given on the command line.
 *
 * A template is text with places in braces:
 *   {name}        a member of the answer, else an argument or option
 *   {name:-24}    padded to 24 bytes, to the left; without '-' to the right
 *   {name~}       a time as its age: "5m ago", "now", "never"
 *   {name#}       the length of a text, in bytes
 *   {name?A|B}    A when it is given, true, not null and not the number 0; else B, if there is one
 *   {name*A}      A for each item of a list; {} in it is an item that is a string. Of a nested
 *                 shape: A once, with its members, unless it is null
 * A and B are templates themselves. Control characters in values come out as \x1b.
 */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

struct field;
struct invocation;
struct shape;

/* The member of that name, NULL when there is none. */
const struct field *template_field(const struct shape *shape, struct str name);

/* What the template says of `value`, of `shape`; both may be NULL. */
void template_write(struct invocation *in, const struct shape *shape, const void *value,
                    const char *text, struct buf *out);

/* The same on standard output, as a line. */
void template_print(struct invocation *in, const struct shape *shape, const void *value,
                    const char *text);

/* A path, from what was given on the command line, percent-encoded. */
void template_write_path(struct invocation *in, const char *text, struct buf *out);

/* One member as text; STR_NULL when it is null or false. */
struct str template_text(const struct field *field, const void *value, struct arena *arena);
