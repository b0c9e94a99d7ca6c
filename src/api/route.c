/* route.c - collects the routes of all features, and finds the route of a request. */
#include "api/route.h"

#include <stdlib.h>

#include "base/mem.h"
#include "engine/feature.h"

/* Requests are matched only against routes with their method and number of segments. */
enum { SEGMENTS_MAX = 15, BUCKETS = METHOD_OTHER * (SEGMENTS_MAX + 1) };

struct route_index {
    bool *yields;              /* by entry: a path may match both it and a more literal one */
    size_t begin[BUCKETS + 1]; /* in `order`: where each bucket begins */
    size_t order[];            /* entries, bucket by bucket */
};

static size_t count_segments(struct str path)
{
    size_t n = 0;

    for (size_t i = 0; i < path.len; i++)
        n += path.data[i] == '/';
    return n;
}

/* BUCKETS: no route can match. */
static size_t bucket_of(enum http_method method, size_t segments)
{
    if (method == METHOD_OTHER || segments > SEGMENTS_MAX)
        return BUCKETS;
    return (size_t)method * (SEGMENTS_MAX + 1) + segments;
}

static void add_entries(struct route_table *table, const struct feature *feature)
{
    for (size_t i = 0; i < FEATURE_TABLES_MAX && feature->routes[i] != NULL; i++)
        for (const struct route *route = feature->routes[i]; route->path != NULL; route++) {
            table->entries =
                mem_resize(table->entries, (table->n + 1) * sizeof(struct route_entry));
            table->entries[table->n++] =
                (struct route_entry){ route, feature, count_segments(str_of(route->path)) };
        }
}

/* Do paths exist that both templates match, and is `other` the more literal one: where they first
 * differ, it has a word and `one` a {name}? */
static bool is_less_literal(struct str one, struct str other)
{
    bool differ = false, less = false;

    while (!str_is_null(one) && !str_is_null(other)) {
        struct str left = str_split(&one, '/'), right = str_split(&other, '/');
        bool left_any = str_starts(left, STR_LIT("{")), right_any = str_starts(right, STR_LIT("{"));

        if (!left_any && !right_any && !str_eq(left, right))
            return false;
        less |= !differ && left_any && !right_any;
        differ |= left_any != right_any;
    }
    return less && str_is_null(one) && str_is_null(other);
}

/* Is there a route, of any method, whose words stand where this one has a name? */
static bool yields_to_another(const struct route_table *table, const struct route_entry *entry)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->entries[i].segments == entry->segments &&
            is_less_literal(str_of(entry->route->path), str_of(table->entries[i].route->path)))
            return true;
    return false;
}

/* In each bucket the order is that of the features. */
static void fill_buckets(struct route_index *index, const struct route_table *table)
{
    size_t n = 0;

    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        index->begin[bucket] = n;
        for (size_t i = 0; i < table->n; i++)
            if (bucket_of(table->entries[i].route->method, table->entries[i].segments) == bucket)
                index->order[n++] = i;
    }
    index->begin[BUCKETS] = n;
}

void route_table_init(struct route_table *table, const struct feature *const *features)
{
    struct route_index *index;

    *table = (struct route_table){ 0 };
    for (size_t i = 0; features[i] != NULL; i++)
        add_entries(table, features[i]);
    index = mem_resize(NULL, sizeof(*index) + table->n * sizeof(index->order[0]));
    fill_buckets(index, table);
    index->yields = mem_resize(NULL, table->n * sizeof(bool));
    for (size_t i = 0; i < table->n; i++)
        index->yields[i] = yields_to_another(table, &table->entries[i]);
    table->index = index;
}

void route_table_done(struct route_table *table)
{
    free(table->entries);
    if (table->index != NULL)
        free(table->index->yields);
    free(table->index);
}

/* Does `path` match the template? Fills in the values of its {names}. */
static bool matches_template(const char *template, struct str path, struct route_values *ret)
{
    const char *at = path.data, *end = path.data + path.len;

    ret->n = 0;
    while (*template != '\0') {
        const char *name = template + 1, *from = at;
        size_t name_len;

        if (*template != '{') {
            if (at == end || *at != *template)
                return false;
            at++;
            template ++;
            continue;
        }
        name_len = strcspn(name, "}");
        while (at < end && *at != '/')
            at++;
        if (at == from)
            return false; /* a name must not be empty */
        ret->names[ret->n] = str_from(name, name_len);
        ret->values[ret->n++] = str_from(from, (size_t)(at - from));
        template = name + name_len + 1;
    }
    return at == end;
}

/* The words of a path mean what a route of any method says they mean: what DELETE …/prices/import
 * names is no price whose id is "import". */
static bool is_of_another(const struct route_table *table, const struct route *route,
                          struct str path)
{
    struct route_values unused;

    for (size_t i = 0; i < table->n; i++) {
        const char *other = table->entries[i].route->path;

        if (is_less_literal(str_of(route->path), str_of(other)) &&
            matches_template(other, path, &unused))
            return true;
    }
    return false;
}

const struct route *route_find(const struct route_table *table, enum http_method method,
                               struct str path, struct route_values *ret_values)
{
    const struct route_index *index = table->index;
    size_t bucket = bucket_of(method == METHOD_HEAD ? METHOD_GET : method, count_segments(path));

    if (bucket == BUCKETS)
        return NULL;
    for (size_t i = index->begin[bucket]; i < index->begin[bucket + 1]; i++) {
        const struct route *route = table->entries[index->order[i]].route;

        if (!matches_template(route->path, path, ret_values))
            continue;
        if (index->yields[index->order[i]] && is_of_another(table, route, path))
            continue;
        ret_values->entry = index->order[i];
        return route;
    }
    return NULL;
}

const char *route_method_name(enum http_method method)
{
    static const char *const names[] = {
        [METHOD_GET] = "GET", [METHOD_HEAD] = "HEAD",   [METHOD_POST] = "POST",
        [METHOD_PUT] = "PUT", [METHOD_PATCH] = "PATCH", [METHOD_DELETE] = "DELETE",
    };

    return (size_t)method < COUNT_OF(names) ? names[method] : "OTHER";
}

struct str route_methods(const struct route_table *table, struct str path, struct arena *arena)
{
    struct route_values values;
    struct str list = STR_LIT("");

    for (enum http_method method = METHOD_GET; method < METHOD_OTHER; method++)
        if (route_find(table, method, path, &values) != NULL)
            list = arena_printf(arena, "%.*s%s%s", STR_ARG(list), list.len > 0 ? ", " : "",
                                route_method_name(method));
    return list;
}
