/* vocabulary.c - the known words of registrations. */
#include "features/agents/vocabulary.h"

#include "features/agents/config/params.h"
#include "features/agents/shapes.h"

enum { QUOTE_MAX = 64 }; /* bytes of a name in a warning: a name may be as long as the body */

struct warnings {
    struct arena *arena;
    struct str *items;
    size_t n, dropped;
};

static const char *const units[] = { "count", "percent", "duration" };
static const char *const aggregations[] = { "sum", "last", "avg", "max" };

/* The next warning to fill in, or NULL when there are too many. */
static struct str *add_warning(struct warnings *w)
{
    if (w->n == WARNINGS_MAX) {
        w->dropped++;
        return NULL;
    }
    if (w->items == NULL)
        w->items = ARENA_ARRAY(w->arena, struct str, WARNINGS_MAX + 1);
    return &w->items[w->n++];
}

/* The text, truncated. */
static struct str quote(struct str text, struct arena *arena)
{
    size_t len = QUOTE_MAX;

    if (text.len <= QUOTE_MAX)
        return text;
    while (((unsigned char)text.data[len] & 0xc0) == 0x80)
        len--; /* do not split a character */
    return arena_printf(arena, "%.*s…", (int)len, text.data);
}

static bool is_one_of(struct str word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq_c(word, words[i]))
            return true;
    return false;
}

/* Such as money:EUR. */
static bool is_money(struct str unit)
{
    static const struct str prefix = STR_INIT("money:");
    enum { CODE_LEN = 3 };

    if (!str_starts(unit, prefix) || unit.len != prefix.len + CODE_LEN)
        return false;
    for (size_t i = prefix.len; i < unit.len; i++)
        if (unit.data[i] < 'A' || unit.data[i] > 'Z')
            return false;
    return true;
}

/* The element with this key has a member whose value is none of `words`. */
static void warn_unknown_word(struct warnings *w, const char *about, struct str key,
                              struct str said, const char *words)
{
    const struct str quoted_key = quote(key, w->arena), quoted = quote(said, w->arena);
    struct str *warning = add_warning(w);

    if (warning != NULL)
        *warning = arena_printf(w->arena, "%s '%.*s': '%.*s' is none of %s", about,
                                STR_ARG(quoted_key), STR_ARG(quoted), words);
}

static void check_kpi(struct warnings *w, const struct business_kpi_decl *kpi)
{
    if (!is_one_of(kpi->unit, units, COUNT_OF(units)) && !is_money(kpi->unit))
        warn_unknown_word(w, "unit of KPI", kpi->key, kpi->unit,
                          "count, money:<ISO currency code>, percent, duration");
    if (!is_one_of(kpi->agg, aggregations, COUNT_OF(aggregations)))
        warn_unknown_word(w, "agg of KPI", kpi->key, kpi->agg,
                          "sum, last, avg, max; treated as last");
}

static void check_param(struct warnings *w, const struct config_param_decl *param,
                        struct arena *work)
{
    const struct str key = quote(param->key, w->arena);
    struct str *warning;

    if (!config_type_is_known(param->value_type))
        warn_unknown_word(w, "value_type of parameter", param->key, param->value_type,
                          "string, integer, number, boolean, json, list; treated as string");
    if (param->default_value.len == 0 ||
        config_type_fits(param->value_type, param->default_value, work))
        return;
    warning = add_warning(w);
    if (warning != NULL)
        *warning =
            arena_printf(w->arena, "default of parameter '%.*s': not a valid %.*s; treated as null",
                         STR_ARG(key), STR_ARG(param->value_type));
}

static void check_params(struct warnings *w, const struct list *list)
{
    const struct config_param_decl *params = list->items;
    ARENA_SCOPED(work);

    for (size_t i = 0; i < list->n; i++) {
        check_param(w, &params[i], &work);
        arena_reset(&work);
    }
}

struct list vocabulary_warnings(const struct agent_register *body, struct arena *arena)
{
    const struct business_kpi_decl *kpis = body->business_kpis.items;
    struct warnings w = { .arena = arena };

    for (size_t i = 0; i < body->business_kpis.n; i++)
        check_kpi(&w, &kpis[i]);
    if (body->config_schema != NULL)
        check_params(&w, &body->config_schema->params);
    if (w.dropped > 0)
        w.items[w.n++] = arena_printf(arena, "and %zu more", w.dropped);
    return (struct list){ w.items, w.n };
}
