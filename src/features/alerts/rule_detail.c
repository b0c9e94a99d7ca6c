/* rule_detail.c - writes a rule and a value as the detail of an alert. */
#include "features/alerts/rule_detail.h"

#include <math.h>

#include "shape/json_write.h"

struct str rule_detail_with(const struct shape *shape, const void *rule, struct str members,
                            struct arena *arena)
{
    BUF_SCOPED(out, SIZE_MAX); /* bounded: rules have maximum lengths */

    shape_write_json(shape, rule, &out);
    return arena_printf(arena, "%.*s,%.*s}", (int)(out.len - 1), out.data,
                        STR_ARG(members)); /* without the closing brace */
}

struct str rule_detail(const struct shape *shape, const void *rule, const char *name,
                       struct str value, struct arena *arena)
{
    return rule_detail_with(shape, rule, arena_printf(arena, "\"%s\":%.*s", name, STR_ARG(value)),
                            arena);
}

struct str rule_number_text(double value, struct arena *arena)
{
    BUF_SCOPED(out, KIB(1));

    if (value == floor(value) && fabs(value) < 1e15)
        buf_add_int(&out, (int64_t)value);
    else
        json_add_real(&out, value);
    return buf_take(&out, arena);
}
