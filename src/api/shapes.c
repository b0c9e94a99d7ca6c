/* shapes.c - every shape of the API, found by walking the routes. */
#include "api/shapes.h"

#include <stdlib.h>

#include "api/answers.h"
#include "api/route.h"

static int compare_names(const void *a, const void *b)
{
    const struct shape *const *left = (const struct shape *const *)a;
    const struct shape *const *right = (const struct shape *const *)b;

    return strcmp((*left)->name, (*right)->name);
}

static void collect_from(const struct route *route, unsigned uses, struct schema_set *ret)
{
    const struct {
        enum shape_use use;
        const struct shape *shape;
    } used[] = {
        { SHAPE_BODY, route->body },      { SHAPE_QUERY, route->query },
        { SHAPE_PATH, route->params },    { SHAPE_ANSWER, route->answer },
        { SHAPE_ANSWER, route->refusal },
    };

    for (size_t i = 0; i < COUNT_OF(used); i++)
        if ((uses & used[i].use) != 0 && used[i].shape != NULL)
            schema_set_add(ret, used[i].shape);
}

void shapes_collect(const struct route_table *table, unsigned uses, struct schema_set *ret)
{
    if ((uses & SHAPE_ANSWER) != 0)
        schema_set_add(ret, &error_answer_shape);
    for (size_t i = 0; i < table->n; i++)
        collect_from(table->entries[i].route, uses, ret);
    qsort((void *)ret->items, ret->n, sizeof(ret->items[0]), compare_names);
}
