/* template.c - filling in the places of a line. */
#include "cli/template.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/datetime.h"
#include "cli/command.h"
#include "cli/print.h"
#include "shape/shape.h"

/* Where names are looked up: a struct, or an item of a list of strings. */
struct scope {
    struct invocation *in;
    const struct shape *shape; /* NULL: none */
    const void *value;
    struct str item;
    void (*add)(struct buf *out, struct str s); /* how values are written */
};

/* What stands between two braces. */
struct place {
    struct str name;
    char unit;          /* '~', '#', or 0 for the value as it is */
    int64_t width;      /* < 0: padded on the right */
    char kind;          /* '?', '*', or 0 for a value */
    struct str yes, no; /* the templates after it */
};

const struct field *template_field(const struct shape *shape, struct str name)
{
    for (size_t i = 0; shape != NULL && i < shape->n_fields; i++)
        if (str_eq_c(name, shape->fields[i].name))
            return &shape->fields[i];
    return NULL;
}

static struct str number_text(bool has, int64_t value, struct arena *arena)
{
    return has ? arena_printf(arena, "%lld", (long long)value) : STR_NULL;
}

static struct str time_text(int64_t at, struct arena *arena)
{
    char text[DATETIME_TEXT_MAX];

    return at == TIME_NULL ? STR_NULL : arena_copy(arena, datetime_format(at, text));
}

struct str template_text(const struct field *field, const void *value, struct arena *arena)
{
    const void *at = (const char *)value + field->offset;
    const struct opt_int *number = at;
    const struct opt_bool *truth = at;

    switch (field->type) {
    case T_INT:
        return number_text(true, *(const int64_t *)at, arena);
    case T_OPT_INT:
        return number_text(number->has, number->value, arena);
    case T_NUMBER:
        return isnan(*(const double *)at) ? STR_NULL
                                          : arena_printf(arena, "%.15g", *(const double *)at);
    case T_TIME:
        return time_text(*(const int64_t *)at, arena);
    case T_ENUM:
        return *(const int *)at < 0 ? STR_NULL : str_of(field->choices[*(const int *)at]);
    case T_BOOL:
        return *(const bool *)at ? STR_LIT("yes") : STR_NULL;
    case T_OPT_BOOL:
        return truth->has && truth->value ? STR_LIT("yes") : STR_NULL;
    case T_LIST_STR:
    case T_LIST:
    case T_VALUES:
    case T_POINTS:
    case T_BY:
    case T_SHAPE:
        return STR_NULL; /* only a '*' prints those */
    default:
        return *(const struct str *)at;
    }
}

/* "5m ago": in the largest unit that there is at least one of. */
static struct str age_text(int64_t at, struct arena *arena)
{
    static const struct {
        int64_t seconds;
        char unit;
    } units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
    int64_t age_s;

    if (at == TIME_NULL)
        return STR_LIT("never");
    age_s = (clock_wall_us() - at) / USEC_PER_SEC;
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (age_s >= units[i].seconds)
            return arena_printf(arena, "%lld%c ago", (long long)(age_s / units[i].seconds),
                                units[i].unit);
    return STR_LIT("now");
}

static struct str text_of(const struct scope *scope, const struct place *place)
{
    struct arena *arena = &scope->in->arena;
    const struct field *field = template_field(scope->shape, place->name);
    struct str text;

    if (place->name.len == 0)
        return scope->item;
    if (field == NULL)
        return str_of(command_value(scope->in, arena_cstr(arena, place->name)));
    assert(scope->value != NULL);
    if (place->unit == '~')
        return age_text(*(const int64_t *)((const char *)scope->value + field->offset), arena);
    text = template_text(field, scope->value, arena);
    return place->unit == '#' ? number_text(true, (int64_t)text.len, arena) : text;
}

/* How many bytes of `s` come before the first of `stops` outside of inner braces. */
static size_t span(struct str s, const char *stops)
{
    unsigned depth = 0;
    size_t i = 0;

    for (; i < s.len; i++) {
        if (depth == 0 && strchr(stops, s.data[i]) != NULL)
            break;
        if (s.data[i] == '{')
            depth++;
        else if (s.data[i] == '}')
            depth--;
    }
    return i;
}

/* Cuts what span() counts off `*rest`, with the byte it stopped at. */
static struct str take_until(struct str *rest, const char *stops)
{
    size_t n = span(*rest, stops), cut = n < rest->len ? n + 1 : n;
    struct str taken = str_from(rest->data, n);

    *rest = str_from(rest->data + cut, rest->len - cut);
    return taken;
}

static struct place read_place(struct str whole)
{
    const size_t kind_at = span(whole, "?*");
    struct str text = whole, width = take_until(&text, "?*"), name = str_split(&width, ':');
    struct place place = { .name = name, .yes = text };

    if (kind_at < whole.len)
        place.kind = whole.data[kind_at];
    if (place.kind == '?') {
        place.no = text;
        place.yes = take_until(&place.no, "|");
    }
    if (name.len > 0 && (name.data[name.len - 1] == '~' || name.data[name.len - 1] == '#'))
        place.unit = name.data[--place.name.len];
    if (!str_is_null(width))
        (void)str_to_int(width, &place.width);
    return place;
}

static void pad(struct buf *out, size_t from, int64_t width)
{
    size_t want = (size_t)llabs(width), len = out->len - from, n = len < want ? want - len : 0;

    if (n == 0 || buf_reserve(out, n) == NULL)
        return;
    buf_added(out, n);
    if (width > 0)
        memmove(out->data + from + n, out->data + from, len);
    memset(out->data + from + (width > 0 ? 0 : len), ' ', n);
}

static void write_text(const struct scope *scope, struct str text, struct buf *out);

static void write_items(const struct scope *scope, const struct place *place, struct buf *out)
{
    const struct field *field = template_field(scope->shape, place->name);
    const struct list *list;

    if (field == NULL)
        return;
    assert(scope->value != NULL);
    if (field->type == T_SHAPE) {
        struct scope inner = { .in = scope->in, .shape = field->nested, .add = scope->add };

        memcpy((void *)&inner.value, (const char *)scope->value + field->offset,
               sizeof(inner.value));
        if (inner.value != NULL)
            write_text(&inner, place->yes, out);
        return;
    }
    list = (const void *)((const char *)scope->value + field->offset);
    for (size_t i = 0; i < list->n; i++) {
        struct scope inner = { .in = scope->in, .shape = field->nested, .add = scope->add };

        if (field->type == T_LIST)
            inner.value = (const char *)list->items + i * field->nested->size;
        else
            inner.item = ((const struct str *)list->items)[i];
        write_text(&inner, place->yes, out);
    }
}

static bool is_set(const struct scope *scope, const struct place *place)
{
    const struct field *field = template_field(scope->shape, place->name);
    struct str text = text_of(scope, place);

    if (place->unit == '#' || (field != NULL && field->type == T_INT))
        return !str_eq_c(text, "0");
    return !str_is_null(text);
}

static void write_place(const struct scope *scope, const struct place *place, struct buf *out)
{
    size_t from = out->len;

    if (place->kind == '*')
        write_items(scope, place, out);
    else if (place->kind == '?')
        write_text(scope, is_set(scope, place) ? place->yes : place->no, out);
    else
        scope->add(out, text_of(scope, place));
    pad(out, from, place->width);
}

static void write_text(const struct scope *scope, struct str text, struct buf *out)
{
    while (text.len > 0) {
        struct place place;
        size_t n = span(text, "{");

        buf_add(out, str_from(text.data, n));
        if (n == text.len)
            return;
        (void)take_until(&text, "{");
        place = read_place(take_until(&text, "}"));
        write_place(scope, &place, out);
    }
}

void template_write(struct invocation *in, const struct shape *shape, const void *value,
                    const char *text, struct buf *out)
{
    const struct scope scope = { .in = in, .shape = shape, .value = value, .add = print_visible };

    write_text(&scope, str_of(text), out);
}

void template_write_path(struct invocation *in, const char *text, struct buf *out)
{
    const struct scope scope = { .in = in, .add = print_encoded };

    write_text(&scope, str_of(text), out);
}

void template_print(struct invocation *in, const struct shape *shape, const void *value,
                    const char *text)
{
    BUF_SCOPED(out, SIZE_MAX);

    template_write(in, shape, value, text, &out);
    buf_add_char(&out, '\n');
    (void)fwrite(out.data, 1, out.len, stdout);
}
