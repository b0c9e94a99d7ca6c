/* route.c - finding the route of a request. */
#include "api/route.h"

#include "base/buf.h"

/* Does `path` fit the template? Fills the values of its {names}. */
static bool fits(const char *template, struct str path, struct route_values *ret)
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
            return false; /* an empty segment names nothing */
        ret->names[ret->n] = str_from(name, name_len);
        ret->values[ret->n++] = str_from(from, (size_t)(at - from));
        template = name + name_len + 1;
    }
    return at == end;
}

const struct route *route_find(enum http_method method, struct str path,
                               struct route_values *ret_values)
{
    enum http_method wanted = method == METHOD_HEAD ? METHOD_GET : method;

    for (size_t i = 0; i < n_routes; i++)
        if (routes[i].method == wanted && fits(routes[i].path, path, ret_values))
            return &routes[i];
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

struct str route_methods(struct str path, struct arena *arena)
{
    struct route_values values;
    struct str list = STR_LIT("");

    for (size_t i = 0; i < n_routes; i++) {
        if (!fits(routes[i].path, path, &values))
            continue;
        list = arena_printf(arena, "%.*s%s%s%s", STR_ARG(list), list.len > 0 ? ", " : "",
                            route_method_name(routes[i].method),
                            routes[i].method == METHOD_GET ? ", HEAD" : "");
    }
    return list;
}
