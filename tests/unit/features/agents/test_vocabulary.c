/* test_vocabulary.c - what a registration is warned of. */
#include "features/agents/vocabulary.h"

#include "features/agents/shapes.h"
#include "shape/problems.h"
#include "test.h"

struct said {
    struct arena arena;
    struct list warnings;
};

static void read(struct said *s, struct str body)
{
    struct agent_register r = { 0 };

    arena_init(&s->arena);
    if (shape_read_json(&agent_register_shape, body, &s->arena, &r,
                        problems_new(&s->arena, "body")) != 0)
        fail_msg("%.*s", STR_ARG(body));
    s->warnings = vocabulary_warnings(&r, &s->arena);
}

#define KPI(members) "{\"agent_name\":\"a\",\"business_kpis\":[{\"key\":\"k\"" members "}]}"
#define PARAM(members)                                                                             \
    "{\"agent_name\":\"a\",\"config_schema\":{\"params\":[{\"key\":\"k\"" members "}]}}"
#define LONG "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"

TEST(words_outside_the_vocabularies_and_defaults_that_do_not_fit_are_warned_of)
{
    /* clang-format off */
    static const struct {
        const char *body, *warning; /* NULL: none */
    } rows[] = {
        { "{\"agent_name\":\"a\"}", NULL },
        { "{\"agent_name\":\"a\",\"config_schema\":{}}", NULL },
        { KPI(""), NULL },
        { KPI(",\"unit\":\"count\",\"agg\":\"last\""), NULL },
        { KPI(",\"unit\":\"percent\",\"agg\":\"avg\""), NULL },
        { KPI(",\"unit\":\"duration\",\"agg\":\"max\""), NULL },
        { KPI(",\"unit\":\"money:EUR\""), NULL },
        { KPI(",\"unit\":\"money:eur\""), "unit of KPI 'k': 'money:eur' is none of count, money:<ISO currency code>, percent, duration" },
        { KPI(",\"unit\":\"money:\""), "unit of KPI 'k': 'money:' is none of count, money:<ISO currency code>, percent, duration" },
        { KPI(",\"unit\":\"money:EURO\""), "unit of KPI 'k': 'money:EURO' is none of count, money:<ISO currency code>, percent, duration" },
        { KPI(",\"unit\":\"\""), "unit of KPI 'k': '' is none of count, money:<ISO currency code>, percent, duration" },
        { KPI(",\"agg\":\"Sum\""), "agg of KPI 'k': 'Sum' is none of sum, last, avg, max; treated as last" },
        { KPI(",\"agg\":\"" LONG "f\""), "agg of KPI 'k': '" LONG "f' is none of sum, last, avg, max; treated as last" },
        { KPI(",\"agg\":\"" LONG "ff\""), "agg of KPI 'k': '" LONG "f…' is none of sum, last, avg, max; treated as last" },
        { KPI(",\"agg\":\"" LONG "€\""), "agg of KPI 'k': '" LONG "…' is none of sum, last, avg, max; treated as last" },
        { PARAM(""), NULL },
        { PARAM(",\"default\":\"x\""), NULL },
        { PARAM(",\"value_type\":\"integer\""), NULL },
        { PARAM(",\"value_type\":\"integer\",\"default\":\"5\""), NULL },
        { PARAM(",\"value_type\":\"integer\",\"default\":\"x\""), "default of parameter 'k': not a valid integer; treated as null" },
        { PARAM(",\"value_type\":\"list\",\"default\":\"a,b\""), "default of parameter 'k': not a valid list; treated as null" },
        { PARAM(",\"value_type\":\"int\",\"default\":\"x\""), "value_type of parameter 'k': 'int' is none of string, integer, number, boolean, json, list; treated as string" },
    };
    /* clang-format on */

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct said s;

        read(&s, str_of(rows[i].body));
        CHECK_INT(s.warnings.n, rows[i].warning != NULL);
        if (rows[i].warning != NULL)
            CHECK_STR(*(struct str *)s.warnings.items, rows[i].warning);
        arena_done(&s.arena);
    }
}
