/* json_form.h - splits a JSON text into its form, which many events share, and its values.
 *
 *     {"customer":"c-17","lines":4}  is  {"customer":"%s","lines":%s}  with  c-17 and 4
 *
 * The form is one of PostgreSQL's format(): a percent sign of the text is two
 * there. The values are the bytes between the quotes, or of the number or word,
 * as they are, each but the last followed by JSON_FORM_SEPARATOR; a text that
 * has that in a value stays whole.
 *
 * Thread-safe.
 */
#pragma once
#include "base/arena.h"

enum {
    JSON_FORM_SEPARATOR = 31,
    JSON_FORM_VALUES = 16, /* at most */
    JSON_FORM_TEXT_MAX = 2048,
    JSON_FORM_MAX = 400, /* bytes of a form */
};

/* In SQL: the text again. format() must not fail where something stored was damaged: it has a value
 * for each place of the form, and another form stays as it is, for a checksum to find. */
#define JSON_FORM_FILLED(form, values)                                                             \
    "CASE WHEN strpos(replace(replace(" form ", '%%', ''), '%s', ''), '%') = 0"                    \
    " AND length(" form ") - length(replace(" form ", '%s', '')) <= 32"                            \
    " THEN format(" form ", VARIADIC string_to_array(COALESCE(" values ", '')"                     \
    " || repeat(chr(31), 16), chr(31))) ELSE " form " END"

struct json_form {
    struct str form, values;
};

/* `json` is valid JSON, whose strings, numbers and words are values, but not the names of members.
 * False: the form would be too long, or have too many places. In the arena. */
bool json_form_split(struct arena *arena, struct str json, struct json_form *ret);
