/* table.h - the words that a shape's table is written in.
 *
 *     SHAPE(tenant_create, "TenantCreate", (.doc = "A tenant to create."),
 *         STR(slug, .max = 63, .flags = F_REQUIRED),
 *         INT(max_agents, .absent = "100"));
 *
 * is tenant_create_shape, which fills a struct tenant_create. In parentheses are further members of
 * struct shape; then come the rows. A row is named after the member that it fills, and does not
 * compile when that member has another C type than the row's word asks for. What follows the
 * member are further members of struct field.
 *
 * For .c files with tables only.
 */
#pragma once
#include "base/base.h"
#include "shape/shape.h"

/* A row by all its parts, for a name that is not the member's or a member of an embedded struct. */
#define FIELD_AT(text, m, ctype, tag, ...) (text, m, ctype, tag, __VA_ARGS__)

#define STR(m, ...)       FIELD_AT(#m, m, struct str, T_STR, __VA_ARGS__)
#define UUID(m, ...)      FIELD_AT(#m, m, struct str, T_UUID, __VA_ARGS__)
#define ENUM(m, ...)      FIELD_AT(#m, m, int, T_ENUM, __VA_ARGS__)
#define TIME(m, ...)      FIELD_AT(#m, m, int64_t, T_TIME, __VA_ARGS__)
#define INT(m, ...)       FIELD_AT(#m, m, int64_t, T_INT, __VA_ARGS__)
#define OPT_INT(m, ...)   FIELD_AT(#m, m, struct opt_int, T_OPT_INT, __VA_ARGS__)
#define BOOL(m, ...)      FIELD_AT(#m, m, bool, T_BOOL, __VA_ARGS__)
#define OPT_BOOL(m, ...)  FIELD_AT(#m, m, struct opt_bool, T_OPT_BOOL, __VA_ARGS__)
#define NUMBER(m, ...)    FIELD_AT(#m, m, double, T_NUMBER, __VA_ARGS__)
#define JSON(m, ...)      FIELD_AT(#m, m, struct str, T_JSON, __VA_ARGS__)
#define OBJECT(m, ...)    FIELD_AT(#m, m, struct str, T_OBJECT, __VA_ARGS__)
#define DICT_STR(m, ...)  FIELD_AT(#m, m, struct str, T_DICT_STR, __VA_ARGS__)
#define DICT_NUM(m, ...)  FIELD_AT(#m, m, struct str, T_DICT_NUM, __VA_ARGS__)
#define LIST_STR(m, ...)  FIELD_AT(#m, m, struct list, T_LIST_STR, __VA_ARGS__)
#define LIST_TEXT(m, ...) FIELD_AT(#m, m, struct str, T_LIST_TEXT, __VA_ARGS__)
#define VALUES(m, ...)    FIELD_AT(#m, m, struct list, T_VALUES, __VA_ARGS__)
#define POINTS(m, ...)    FIELD_AT(#m, m, struct list, T_POINTS, __VA_ARGS__)
#define BY(m, ...)        FIELD_AT(#m, m, struct list, T_BY, __VA_ARGS__)
#define DIGEST(m, ...)    FIELD_AT(#m, m, struct sha256, T_DIGEST, __VA_ARGS__)

/* A nested shape, and a list of one. */
#define NESTED(m, ctype, shape, ...)                                                               \
    FIELD_AT(#m, m, ctype *, T_SHAPE, .nested = &(shape), __VA_ARGS__)
#define LIST(m, shape, ...) FIELD_AT(#m, m, struct list, T_LIST, .nested = &(shape), __VA_ARGS__)

/* The items of a struct listing, by their name in the answer. */
#define ITEMS(text, shape, ...)                                                                    \
    FIELD_AT(text, list, struct list, T_LIST, .nested = &(shape), __VA_ARGS__)

/* For a name that is no C identifier, such as "default". */
#define STR_AS(text, m, ...) FIELD_AT(text, m, struct str, T_STR, __VA_ARGS__)

/* Rows of a struct that is the member `embedded`. */
#define EMBEDDED(embedded, ...) EACH_ROW(EMBEDDED_ROW, embedded, __VA_ARGS__)

/* .example of a shape, in JSON: EXAMPLE({"slug": "acme"}). Members that are left out are nested
 * shapes by their own example, the first choice, a fixed time or UUID, or empty. */
#define EXAMPLE(...) #__VA_ARGS__

#define SHAPE(type, text, own, ...) SHAPE_TABLE(, type##_shape, struct type, text, own, __VA_ARGS__)

/* The same for a shape that only its own file uses. */
#define STATIC_SHAPE(type, text, own, ...)                                                         \
    SHAPE_TABLE(static, type##_shape, struct type, text, own, __VA_ARGS__)

/* One that fills a struct listing. */
#define LIST_SHAPE(name, text, own, ...)                                                           \
    SHAPE_TABLE(, name##_shape, struct listing, text, own, __VA_ARGS__)

/* A shape whose name is not that of the struct it fills. */
#define SHAPE_TABLE(storage, id, ctype, text, own, ...)                                            \
    static const struct field id##_fields[] = { EACH_ROW(FIELD_OF_ROW, ctype, __VA_ARGS__) };      \
    storage const struct shape id = { .name = (text),                                              \
                                      .fields = id##_fields,                                       \
                                      .n_fields = COUNT_OF(id##_fields),                           \
                                      .size = sizeof(ctype),                                       \
                                      UNWRAP own }

/* Below: how SHAPE_TABLE() does it. A row is a tuple in parentheses until EACH_ROW() meets it with
 * the type of the struct. */
#define UNWRAP(...) __VA_ARGS__

#define FIELD_OF_ROW(ctype, ...)   __VA_OPT__(FIELD_OF_PARTS(ctype, UNWRAP __VA_ARGS__), )
#define FIELD_OF_PARTS(ctype, ...) FIELD_OF(ctype, __VA_ARGS__)
#define FIELD_OF(ctype, text, m, mtype, tag, ...)                                                  \
    { .name = (text),                                                                              \
      .type = (tag),                                                                               \
      .offset = offsetof(ctype, m) + 0 * ROW_TYPE_CHECKED(ctype, text, m, mtype),                  \
      __VA_ARGS__ }

/* The message names the row, because a compiler shows where the table begins. */
#define ROW_TYPE_CHECKED(ctype, text, m, mtype)                                                    \
    sizeof(struct {                                                                                \
        _Static_assert(_Generic(((ctype *)0)->m, mtype: 1, default: 0),                            \
                       "the member of row " text " has another type");                             \
        char unused;                                                                               \
    })

#define EMBEDDED_ROW(embedded, ...)         __VA_OPT__(EMBEDDED_PARTS(embedded, UNWRAP __VA_ARGS__), )
#define EMBEDDED_PARTS(embedded, ...)       EMBEDDED_OF(embedded, __VA_ARGS__)
#define EMBEDDED_OF(embedded, text, m, ...) (text, embedded.m, __VA_ARGS__)

/* f(x, row) for each of at most 32 rows; an empty row, as EMBEDDED() leaves one, is passed on as
 * one. */
#define EACH_ROW(f, x, ...)                                                                        \
    EACH_ROW_OF(f, x, __VA_ARGS__, , , , , , , , , , , , , , , , , , , , , , , , , , , , , , , , , \
                , , , , )
#define EACH_ROW_OF(f, x, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14, r15, r16,   \
                    r17, r18, r19, r20, r21, r22, r23, r24, r25, r26, r27, r28, r29, r30, r31,     \
                    r32, b1, b2, b3, b4, ...)                                                      \
    f(x, r1) f(x, r2) f(x, r3) f(x, r4) f(x, r5) f(x, r6) f(x, r7) f(x, r8) f(x, r9) f(x, r10)     \
        f(x, r11) f(x, r12) f(x, r13) f(x, r14) f(x, r15) f(x, r16) f(x, r17) f(x, r18) f(x, r19)  \
            f(x, r20) f(x, r21) f(x, r22) f(x, r23) f(x, r24) f(x, r25) f(x, r26) f(x, r27)        \
                f(x, r28) f(x, r29) f(x, r30) f(x, r31) f(x, r32) NONE_BEYOND(b1 b2 b3 b4)
#define NONE_BEYOND(...) __VA_OPT__(EACH_ROW_has_too_few_rows)
