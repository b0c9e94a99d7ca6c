/* table.h - the words that a shape's table is written in.
 *
 *     #define OWNER struct tenant_list
 *     SHAPE_BEGIN(tenant_list_shape)
 *         { LIST(tenants, tenant_shape), .flags = F_REQUIRED },
 *     SHAPE_END(tenant_list_shape, "TenantList", .doc = "All tenants.");
 *     #undef OWNER
 *
 * A row is named after the member of OWNER that it fills, and does not compile when that member
 * has another C type than the row's tag asks for. Rows of a struct that is embedded in OWNER are
 * written with MEMBER(m) redefined as `embedded.m`.
 *
 * For .c files with tables only.
 */
#pragma once
#include "base/base.h"
#include "shape/shape.h"

#define FIELD_AT(text, m, ctype, tag)                                                              \
    .name = (text), .type = (tag),                                                                 \
    .offset = _Generic(((OWNER *)0)->MEMBER(m), ctype: offsetof(OWNER, MEMBER(m)))

#define STR(m)       FIELD_AT(#m, m, struct str, T_STR)
#define UUID(m)      FIELD_AT(#m, m, struct str, T_UUID)
#define ENUM(m)      FIELD_AT(#m, m, int, T_ENUM)
#define TIME(m)      FIELD_AT(#m, m, int64_t, T_TIME)
#define INT(m)       FIELD_AT(#m, m, int64_t, T_INT)
#define OPT_INT(m)   FIELD_AT(#m, m, struct opt_int, T_OPT_INT)
#define BOOL(m)      FIELD_AT(#m, m, bool, T_BOOL)
#define OPT_BOOL(m)  FIELD_AT(#m, m, struct opt_bool, T_OPT_BOOL)
#define NUMBER(m)    FIELD_AT(#m, m, double, T_NUMBER)
#define JSON(m)      FIELD_AT(#m, m, struct str, T_JSON)
#define OBJECT(m)    FIELD_AT(#m, m, struct str, T_OBJECT)
#define DICT_STR(m)  FIELD_AT(#m, m, struct str, T_DICT_STR)
#define DICT_NUM(m)  FIELD_AT(#m, m, struct str, T_DICT_NUM)
#define LIST_STR(m)  FIELD_AT(#m, m, struct list, T_LIST_STR)
#define LIST_TEXT(m) FIELD_AT(#m, m, struct str, T_LIST_TEXT)
#define VALUES(m)    FIELD_AT(#m, m, struct list, T_VALUES)
#define POINTS(m)    FIELD_AT(#m, m, struct list, T_POINTS)
#define BY(m)        FIELD_AT(#m, m, struct list, T_BY)

/* A nested shape, and a list of one. */
#define SHAPE(m, ctype, shape) FIELD_AT(#m, m, ctype *, T_SHAPE), .nested = &(shape)
#define LIST(m, shape)         FIELD_AT(#m, m, struct list, T_LIST), .nested = &(shape)

/* For a name that is no C identifier, such as "default". */
#define STR_AS(text, m) FIELD_AT(text, m, struct str, T_STR)

/* The path of member `m` in OWNER. */
#define MEMBER(m) m

/* A shape with the rows between the two; `...` are further members of struct shape. */
#define SHAPE_BEGIN(id) static const struct field id##_fields[] = {
#define SHAPE_END(id, text, ...)                                                                   \
    }                                                                                              \
    ;                                                                                              \
    const struct shape id = { SHAPE_OF(text, OWNER, id##_fields), __VA_ARGS__ }

/* The same for a shape that only its own file uses. */
#define STATIC_SHAPE_END(id, text, ...)                                                            \
    }                                                                                              \
    ;                                                                                              \
    static const struct shape id = { SHAPE_OF(text, OWNER, id##_fields), __VA_ARGS__ }

/* .example of a shape, in JSON: EXAMPLE({"slug": "acme"}). Members that are left out are nested
 * shapes by their own example, the first choice, a fixed time or UUID, or empty. */
#define EXAMPLE(...) #__VA_ARGS__

#define SHAPE_OF(text, ctype, rows)                                                                \
    .name = (text), .fields = (rows), .n_fields = COUNT_OF(rows), .size = sizeof(ctype)
