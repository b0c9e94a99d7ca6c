/* openapi.c - the OpenAPI document, generated from the routes and their shapes. */
#include "api/openapi.h"

#include <stdio.h>

#include "api/answers.h"
#include "api/route.h"
#include "api/shapes.h"
#include "shape/schema.h"

#define TITLE   "Agent Telemetry and Registration API"
#define VERSION "0.2.0"

enum { DOCUMENT_MAX = 8 << 20 };

/* The method in lower case. */
static const char *lower_method(const struct route *route)
{
    switch (route->method) {
    case METHOD_POST:
        return "post";
    case METHOD_PUT:
        return "put";
    case METHOD_PATCH:
        return "patch";
    case METHOD_DELETE:
        return "delete";
    default:
        return "get";
    }
}

static void add_parameters(struct buf *out, const struct shape *shape, const char *in, bool *first)
{
    if (shape == NULL)
        return;
    for (size_t i = 0; i < shape->n_fields; i++) {
        const struct field *field = &shape->fields[i];
        bool required = (field->flags & F_REQUIRED) != 0;

        buf_add_c(out, *first ? ",\"parameters\":[" : ",");
        *first = false;
        buf_printf(out, "{\"name\":\"%s\",\"in\":\"%s\",\"required\":%s,\"schema\":", field->name,
                   in, required ? "true" : "false");
        schema_write_field(field, out);
        buf_add_char(out, '}');
    }
}

static void add_content(struct buf *out, const char *schema_name)
{
    buf_add_c(out, "\"content\":{\"application/json\":{\"schema\":{");
    if (schema_name != NULL)
        buf_printf(out, "\"$ref\":\"#/components/schemas/%s\"", schema_name);
    buf_add_c(out, "}}}");
}

/* The answer on success. For streams of lines and events the schema describes one of them; anything
 * but JSON is text. */
static void add_answer(struct buf *out, const struct route *route)
{
    const char *name = route->answer == NULL ? NULL : route->answer->name;

    if (route->media == NULL) {
        add_content(out, name);
        return;
    }
    buf_add_c(out, "\"content\":{");
    for (size_t i = 0; route->media[i] != NULL; i++) {
        bool is_json = strstr(route->media[i], "json") != NULL && name != NULL;

        buf_printf(out, "%s\"%s\":{\"schema\":{", i == 0 ? "" : ",", route->media[i]);
        if (is_json)
            buf_printf(out, "\"$ref\":\"#/components/schemas/%s\"", name);
        else
            buf_add_c(out, "\"type\":\"string\"");
        buf_add_c(out, "}}");
    }
    buf_add_char(out, '}');
}

static void add_response(struct buf *out, int status, const char *description,
                         const char *schema_name)
{
    buf_printf(out, ",\"%d\":{\"description\":\"%s\",", status, description);
    add_content(out, schema_name);
    buf_add_char(out, '}');
}

/* The responses of a route, by the columns of its row. */
static void add_responses(struct buf *out, const struct route *route)
{
    const char *error = error_answer_shape.name;
    bool judges = route->auth != AUTH_OPEN || route->body != NULL; /* the caller */

    buf_printf(out, ",\"responses\":{\"%d\":{\"description\":\"Successful Response\",",
               route->status);
    add_answer(out, route);
    buf_add_char(out, '}');
    if (route->tagged)
        buf_add_c(out, ",\"304\":{\"description\":\"Not modified\"}");
    add_response(out, 400, "Malformed request", error);
    if (judges) {
        add_response(out, 401, "Missing, invalid or expired credentials", error);
        add_response(out, 403, "Not allowed with these credentials", error);
    }
    if (route->params != NULL || (route->also & ALSO_NOT_FOUND) != 0)
        add_response(out, 404, "Not found", error);
    if (route->audit != NULL || (route->also & ALSO_CONFLICT) != 0)
        add_response(out, 409, "Conflict with the current state", error);
    add_response(out, 413, "The request is too large", error);
    if (route->body != NULL)
        add_response(out, 415, "The body is not JSON", error);
    if (route->body != NULL || route->params != NULL || route->query != NULL)
        add_response(out, 422, "Validation Error", "HTTPValidationError");
    if (judges)
        add_response(out, 429, "Too many requests or failed sign-ins", error);
    add_response(out, 503, "The service is overloaded or unavailable; retry later",
                 route->unavailable == NULL ? error : route->unavailable->name);
    if ((route->also & ALSO_QUOTA) != 0)
        add_response(out, 507, "The plan has no room for further reports; nothing was stored",
                     error);
    buf_add_char(out, '}');
}

static void add_security(struct buf *out, enum route_auth auth)
{
    const char *schemes = auth >= AUTH_USER ? "{\"SessionCookie\":[]}" : "{\"HTTPBearer\":[]}";

    if (auth == AUTH_READ)
        schemes = "{\"HTTPBearer\":[]},{\"SessionCookie\":[]}";
    if (auth != AUTH_OPEN)
        buf_printf(out, ",\"security\":[%s]", schemes);
}

/* The route's description, and who may call it. */
static void add_description(struct buf *out, const struct route *route)
{
    static const char *const callers[] = {
        [AUTH_OPEN] = "No authentication.",
        [AUTH_ANY_KEY] = "Needs a workspace key or an agent key.",
        [AUTH_OWN_AGENT] = "Needs the agent's own key.",
        [AUTH_USER] = "Needs a signed-in user; keys are refused.",
        [AUTH_READ] = "Needs a workspace key, or a user with a role in the workspace.",
        [AUTH_MEMBER] = "Needs a user with a role in the workspace; keys are refused.",
        [AUTH_ADMIN] = "Needs an admin of the workspace; keys are refused.",
        [AUTH_PLATFORM] = "Needs a platform admin; keys are refused.",
    };
    char text[1024];

    (void)snprintf(text, sizeof(text), "%s %s", route->description, callers[route->auth]);
    buf_add_c(out, ",\"description\":");
    buf_add_json(out, str_of(text));
}

static void add_operation(struct buf *out, const struct route_entry *entry)
{
    const struct route *route = entry->route;
    bool first = true;

    buf_printf(out,
               "\"%s\":{\"tags\":[\"%s\"],\"operationId\":\"%s\",\"summary\":", lower_method(route),
               entry->feature, route->id);
    buf_add_json(out, str_of(route->summary));
    add_description(out, route);
    add_parameters(out, route->params, "path", &first);
    add_parameters(out, route->query, "query", &first);
    if (!first)
        buf_add_char(out, ']');
    if (route->body != NULL) {
        buf_add_c(out, ",\"requestBody\":{\"required\":true,");
        add_content(out, route->body->name);
        buf_add_char(out, '}');
    }
    add_responses(out, route);
    add_security(out, route->auth);
    buf_add_char(out, '}');
}

/* The first entry with this path: all methods of a path are written together. */
static size_t first_of_path(const struct route_table *table, const char *path)
{
    size_t i = 0;

    while (strcmp(table->entries[i].route->path, path) != 0)
        i++;
    return i;
}

static void add_path(struct buf *out, const struct route_table *table, size_t first)
{
    const char *path = table->entries[first].route->path;

    buf_printf(out, "\"%s\":{", path);
    for (size_t i = first; i < table->n; i++) {
        if (strcmp(table->entries[i].route->path, path) != 0)
            continue;
        if (i > first)
            buf_add_char(out, ',');
        add_operation(out, &table->entries[i]);
    }
    buf_add_char(out, '}');
}

static void add_paths(struct buf *out, const struct route_table *table)
{
    bool more = false;

    for (size_t i = 0; i < table->n; i++) {
        const struct route *route = table->entries[i].route;

        if (route->page || first_of_path(table, route->path) != i)
            continue;
        if (more)
            buf_add_char(out, ',');
        more = true;
        add_path(out, table, i);
    }
}

static void add_schemas(struct buf *out, const struct route_table *table)
{
    struct schema_set set = { 0 };

    shapes_collect(table, SHAPE_BODY | SHAPE_ANSWER, &set);
    schema_write_validation_errors(out);
    for (size_t i = 0; i < set.n; i++) {
        buf_printf(out, ",\"%s\":", set.items[i]->name);
        shape_write_schema(set.items[i], out);
    }
}

static void new_line(struct buf *out, unsigned depth)
{
    buf_add_char(out, '\n');
    for (unsigned i = 0; i < depth; i++)
        buf_add_c(out, "  ");
}

/* Copies the JSON string that begins at `at`; returns the index after it. */
static size_t copy_string(struct str text, size_t at, struct buf *out)
{
    size_t end = at + 1;

    while (text.data[end] != '"')
        end += text.data[end] == '\\' ? 2 : 1;
    buf_add(out, str_from(text.data + at, end + 1 - at));
    return end + 1;
}

/* Indents compact JSON, so that a change of the document changes few lines. */
static void indent(struct str text, struct buf *out)
{
    unsigned depth = 0;

    for (size_t at = 0; at < text.len;) {
        char c = text.data[at];
        bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';

        if (c == '"') {
            at = copy_string(text, at, out);
            continue;
        }
        if (closes)
            new_line(out, --depth);
        buf_add_char(out, c);
        at++;
        if (opens && (text.data[at] == '}' || text.data[at] == ']'))
            buf_add_char(out, text.data[at++]); /* empty: on one line */
        else if (opens)
            new_line(out, ++depth);
        else if (c == ',')
            new_line(out, depth);
        else if (c == ':')
            buf_add_char(out, ' ');
    }
    buf_add_char(out, '\n');
}

void openapi_write(const struct route_table *table, struct buf *out)
{
    struct buf compact;

    buf_init(&compact, DOCUMENT_MAX);
    buf_add_c(&compact, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"" TITLE
                        "\",\"version\":\"" VERSION "\"},\"paths\":{");
    add_paths(&compact, table);
    buf_add_c(&compact, "},\"components\":{\"schemas\":{");
    add_schemas(&compact, table);
    buf_add_c(&compact, "},\"securitySchemes\":{\"HTTPBearer\":{\"type\":\"http\","
                        "\"scheme\":\"bearer\"},\"SessionCookie\":{\"type\":\"apiKey\","
                        "\"in\":\"cookie\",\"name\":\"muster_session\",\"description\":"
                        "\"Changes also need the header X-CSRF-Token. Over TLS the name begins "
                        "with __Host-.\"}}}}");
    indent(buf_str(&compact), out);
    buf_done(&compact);
}
