/* openapi.c - the OpenAPI document, made from the routes and their shapes. */
#include "api/openapi.h"

#include "api/answers.h"
#include "api/api.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/route.h"
#include "api/shapes.h"
#include "features/access/users/shapes.h"
#include "shape/schema.h"

#define TITLE   "Agent Telemetry and Registration API"
#define VERSION "0.2.0"

enum { DOCUMENT_MAX = 8 << 20 };

/* The method in lower case, as OpenAPI writes it. */
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

/* Letters, digits and '_' of method and path: unique, since the pair is. */
static void add_operation_id(struct buf *out, const struct route *route)
{
    buf_printf(out, "\"operationId\":\"%s", lower_method(route));
    for (const char *c = route->path; *c != '\0'; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9');

        if (plain)
            buf_add_char(out, *c);
        else
            buf_add_char(out, '_');
    }
    buf_add_char(out, '"');
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

/* Of success. In lines and events the schema is that of one; what is no JSON at all is text. */
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

/* Logging in, setting up and changing a password race with others who do. */
static bool is_of_session(const struct route *route)
{
    return route->answer == &session_answer_shape && route->body != NULL;
}

/* Every route may answer these when its row says so. */
static void add_responses(struct buf *out, const struct route *route)
{
    const char *error = error_answer_shape.name;
    bool judges = route->auth != AUTH_OPEN || route->body != NULL; /* who calls */

    buf_printf(out, ",\"responses\":{\"%d\":{\"description\":\"Successful Response\",",
               route->status);
    add_answer(out, route);
    buf_add_char(out, '}');
    if (route->tagged)
        buf_add_c(out,
                  ",\"304\":{\"description\":\"As it was when If-None-Match's ETag was given\"}");
    add_response(out, 400, "Malformed request", error);
    if (judges) {
        add_response(out, 401, "Nobody known: no token or session, or not a valid one", error);
        add_response(out, 403, "Not for whoever this is", error);
    }
    if (route->params != NULL || route->handler == get_agent_document)
        add_response(out, 404, "There is no such thing", error);
    if (route->audit != NULL || is_of_session(route) || route->handler == get_usage)
        add_response(out, 409, "It clashes with what is there", error);
    add_response(out, 413, "The request is too large", error);
    if (route->body != NULL)
        add_response(out, 415, "Not JSON", error);
    if (route->body != NULL || route->params != NULL || route->query != NULL)
        add_response(out, 422, "Validation Error", "HTTPValidationError");
    if (judges)
        add_response(out, 429, "Too many requests, or too many failures to log in", error);
    add_response(out, 503, "Not now; try again later",
                 route->handler == get_health ? health_answer_shape.name : error);
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

static void add_operation(struct buf *out, const struct route *route)
{
    bool first = true;

    buf_printf(out, "\"%s\":{\"summary\":", lower_method(route));
    buf_add_json(out, str_of(route->summary));
    buf_add_char(out, ',');
    add_operation_id(out, route);
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
    if (route->auth >= AUTH_MEMBER)
        buf_add_c(out, ",\"description\":\"For people, and for operators over the unix socket in "
                       "the data directory; keys are refused.\"");
    add_security(out, route->auth);
    buf_add_char(out, '}');
}

/* Is this the first row with its path? All methods of a path stand together. */
static bool is_first_of_path(size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(routes[j].path, routes[i].path) == 0)
            return false;
    return true;
}

static void add_paths(struct buf *out)
{
    for (size_t i = 0; i < n_routes; i++) {
        bool more = false;

        if (routes[i].page || !is_first_of_path(i))
            continue;
        buf_printf(out, "%s\"%s\":{", i == 0 ? "" : ",", routes[i].path);
        for (size_t j = i; j < n_routes; j++) {
            if (strcmp(routes[j].path, routes[i].path) != 0)
                continue;
            if (more)
                buf_add_char(out, ',');
            more = true;
            add_operation(out, &routes[j]);
        }
        buf_add_char(out, '}');
    }
}

static void add_schemas(struct buf *out)
{
    struct schema_set set = { 0 };

    shapes_collect(SHAPE_BODY | SHAPE_ANSWER, &set);
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

/* Copies the JSON string that begins at `at`; returns the place after it. */
static size_t copy_string(struct str text, size_t at, struct buf *out)
{
    size_t end = at + 1;

    while (text.data[end] != '"')
        end += text.data[end] == '\\' ? 2 : 1;
    buf_add(out, str_from(text.data + at, end + 1 - at));
    return end + 1;
}

/* Compact JSON, indented; so that a change of the document is a change of few lines. */
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

void openapi_write(struct buf *out)
{
    struct buf compact;

    buf_init(&compact, DOCUMENT_MAX);
    buf_add_c(&compact, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"" TITLE
                        "\",\"version\":\"" VERSION "\"},\"paths\":{");
    add_paths(&compact);
    buf_add_c(&compact, "},\"components\":{\"schemas\":{");
    add_schemas(&compact);
    buf_add_c(&compact, "},\"securitySchemes\":{\"HTTPBearer\":{\"type\":\"http\","
                        "\"scheme\":\"bearer\"},\"SessionCookie\":{\"type\":\"apiKey\","
                        "\"in\":\"cookie\",\"name\":\"muster_session\",\"description\":"
                        "\"Changes also need the header X-CSRF-Token. Over TLS the name begins "
                        "with __Host-.\"}}}}");
    indent(buf_str(&compact), out);
    buf_done(&compact);
}

void get_openapi(struct api_call *call)
{
    call_reply_json(call, 200, call->api->openapi);
}
