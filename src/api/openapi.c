/* openapi.c - the OpenAPI document, generated from the routes and their shapes. */
#include "api/openapi.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/route.h"
#include "engine/feature.h"
#include "shape/problems.h"
#include "shape/schema.h"
#include "shape/shape.h"

/* Which headers an answer has. */
enum { ID = 1, RATE = 2, RETRY = 4, TAG = 8, WHO = 16, COOKIE = 32, FILE_NAME = 64, MISSING = 128 };

static const struct header_doc {
    const char *name;
    int in;        /* answers that have it */
    bool required; /* always sent with them */
    const char *schema, *doc;
} headers[] = {
    { "X-Request-Id", ID, true, "{\"type\":\"string\",\"examples\":[\"6f1c2a9e4b7d4c58\"]}",
      "Identifies the request; the log of the service repeats it." },
    { "RateLimit-Limit", RATE, false,
      "{\"type\":\"integer\",\"format\":\"int64\",\"examples\":[100]}",
      "Requests that the key or session may send in 60 seconds. Sent once the caller is known." },
    { "RateLimit-Remaining", RATE, false,
      "{\"type\":\"integer\",\"format\":\"int64\",\"examples\":[97]}",
      "How many of them are left." },
    { "RateLimit-Reset", RATE, false,
      "{\"type\":\"integer\",\"format\":\"int64\",\"examples\":[42]}",
      "Seconds until the oldest counted request no longer counts." },
    { "Retry-After", RETRY, true,
      "{\"type\":\"integer\",\"format\":\"int64\",\"minimum\":1,\"examples\":[3]}",
      "Seconds to wait before the request is sent again." },
    { "ETag", TAG, true, "{\"type\":\"string\",\"examples\":[\"\\\"9b2c41d07e5f\\\"\"]}",
      "Names this state of the answer. Sent back as `If-None-Match`, an unchanged answer is 304." },
    { "WWW-Authenticate", WHO, false,
      "{\"type\":\"string\",\"examples\":[\"Bearer error=\\\"invalid_token\\\"\"]}",
      "The scheme to authenticate with. Not sent when a sign-in is refused." },
    { "Set-Cookie", COOKIE, false,
      "{\"type\":\"string\",\"examples\":[\"muster_session=…; Path=/; HttpOnly; "
      "SameSite=Strict\"]}",
      "The session, which a browser sends back by itself. Signing out deletes it." },
    { "Content-Disposition", FILE_NAME, true,
      "{\"type\":\"string\",\"examples\":[\"attachment; "
      "filename=\\\"acme-events-20260115.ndjson\\\"\"]}",
      "The name of the file to save it as." },
    { "X-Config-Missing", MISSING, false,
      "{\"type\":\"string\",\"examples\":[\"mailbox,api_key\"]}",
      "Required parameters that have no value, separated by commas. Left out when all have one." },
};

/* Refusals that many routes have in common. */
static const struct refusal_doc {
    int status;
    const char *name; /* in components */
    int headers;
    const char *doc;
    const char *example; /* NULL: no body */
} refusals[] = {
    { 202, "Accepted", ID | RATE, "Accepted; there is nothing to answer.", NULL },
    { 304, "NotModified", ID | RATE | TAG,
      "Not modified: the answer is still the one that `If-None-Match` names.", NULL },
    { 400, "BadRequest", ID | RATE, "The request is malformed.",
      "{\"detail\":\"The body is not valid gzip\"}" },
    { 401, "Unauthorized", ID | WHO, "Credentials are missing, invalid or expired.",
      "{\"detail\":\"Invalid or expired token\"}" },
    { 402, "BudgetExceeded", ID | RATE,
      "A hard budget for LLM cost is exceeded: the agent must not call a model.",
      "{\"detail\":\"The hard budget of 25.00 USD per day for LLM cost is exceeded: do not call a "
      "model before 2026-01-11T00:00:00Z\"}" },
    { 403, "Forbidden", ID | RATE, "These credentials do not allow it.",
      "{\"detail\":\"This key does not belong to tenant 'acme'\"}" },
    { 404, "NotFound", ID | RATE, "It does not exist.", "{\"detail\":\"Not Found\"}" },
    { 409, "Conflict", ID | RATE, "The current state does not allow it.",
      "{\"detail\":\"There is already a tenant 'acme'\"}" },
    { 413, "RequestTooLarge", ID | RATE, "The request is too large.",
      "{\"detail\":\"The request is too large: the limit is 1000 events\",\"limit\":1000,"
      "\"unit\":\"events\"}" },
    { 415, "NotJson", ID | RATE, "The body is not JSON, or has an encoding other than gzip.",
      "{\"detail\":\"The body must be JSON: Content-Type application/json\"}" },
    { 422, "InvalidInput", ID | RATE, "The input is not valid; all problems are listed.",
      "{\"detail\":[{\"type\":\"missing\",\"loc\":[\"body\",\"agent_name\"],\"msg\":\"Field "
      "required\",\"input\":{}}]}" },
    { 429, "TooManyRequests", ID | RATE | RETRY, "Too many requests or failed sign-ins.",
      "{\"detail\":\"Too many requests: the limit is 100 per minute\"}" },
    { 500, "Damaged", ID | RATE,
      "What is stored is damaged, or the service has a bug; the log has details under the id of "
      "the "
      "request.",
      "{\"detail\":\"Stored data that this request needs is damaged; the log has details, and "
      "`muster check` names damaged rows\"}" },
    { 507, "OverQuota", ID | RATE,
      "The stored reports of the workspace have reached the quota of its plan; nothing was stored.",
      "{\"detail\":\"The stored reports of tenant 'acme' take 5000000123 bytes and its plan allows "
      "5000000000, so nothing of this request was stored; let retention delete old data, or have "
      "the "
      "plan changed\"}" },
    { 503, "Unavailable", ID | RATE | RETRY,
      "The service is overloaded or unavailable, and stored nothing of the request; retry later.",
      "{\"detail\":\"The service is overloaded; retry later\"}" },
};

static void add_headers(struct buf *out, int which)
{
    bool more = false;

    buf_add_c(out, ",\"headers\":{");
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        if ((headers[i].in & which) == 0)
            continue;
        buf_printf(out, "%s\"%s\":{\"$ref\":\"#/components/headers/%s\"}", more ? "," : "",
                   headers[i].name, headers[i].name);
        more = true;
    }
    buf_add_char(out, '}');
}

static void add_reference(struct buf *out, const struct shape *shape)
{
    if (shape != NULL)
        buf_printf(out, "\"$ref\":\"#/components/schemas/%s\"", shape->name);
}

/* "content":{…} of a JSON body of this shape, with its example. */
static void add_body(struct buf *out, const struct shape *shape, struct arena *arena)
{
    buf_add_c(out, "\"content\":{\"application/json\":{\"schema\":{");
    add_reference(out, shape);
    buf_add_c(out, "},\"example\":");
    schema_write_example(shape, arena, out);
    buf_add_c(out, "}}");
}

static bool is_binary(const char *media)
{
    return strstr(media, "protobuf") != NULL;
}

static void add_binary(struct buf *out, const char *media)
{
    buf_printf(out,
               "\"%s\":{\"schema\":{\"type\":\"string\",\"format\":\"binary\"},"
               "\"example\":\"(the same in binary)\"}",
               media);
}

/* ,"requestBody":{…} of a route that takes one. */
static void add_request(struct buf *out, const struct route *route, struct arena *arena)
{
    if (route->body == NULL && route->takes == NULL)
        return;
    buf_add_c(out, ",\"requestBody\":{\"required\":true,");
    if (route->body != NULL)
        add_body(out, route->body, arena);
    for (size_t i = 0; route->takes != NULL && route->takes[i] != NULL; i++) {
        buf_add_c(out, i == 0 ? "\"content\":{" : ",");
        if (is_binary(route->takes[i]))
            add_binary(out, route->takes[i]);
        else
            buf_printf(out, "\"%s\":{\"schema\":{\"type\":\"object\"},\"example\":%s}",
                       route->takes[i], route->sample);
    }
    buf_add_c(out, route->takes != NULL ? "}}" : "}");
}

/* The head and one line, made by the code that writes exports. */
static void add_csv_example(struct buf *out, const struct shape *shape, struct arena *arena)
{
    void *value = arena_zalloc(arena, shape->size);
    struct problems *problems = problems_new(arena, "body");
    struct buf json, csv;

    buf_init(&json, MIB(1));
    buf_init(&csv, MIB(1));
    schema_write_example(shape, arena, &json);
    csv_write_head(shape, &csv);
    if (shape_read_json(shape, buf_str(&json), arena, value, problems) == 0)
        csv_write_row(shape, value, &csv);
    buf_add_json(out, buf_str(&csv));
    buf_done(&json);
    buf_done(&csv);
}

/* For streams of lines and events the schema describes one of them; anything but JSON is text. */
static void add_medium(struct buf *out, const struct route *route, const char *media,
                       struct arena *arena)
{
    bool is_json = strstr(media, "json") != NULL && route->answer != NULL;

    if (is_binary(media)) {
        add_binary(out, media);
        return;
    }
    buf_printf(out, "\"%s\":{\"schema\":{", media);
    if (is_json)
        add_reference(out, route->answer);
    else
        buf_add_c(out, "\"type\":\"string\"");
    buf_add_c(out, "},\"example\":");
    if (is_json)
        schema_write_example(route->answer, arena, out);
    else if (route->answer != NULL)
        add_csv_example(out, route->answer, arena);
    else
        buf_add_json(out, str_of(route->sample == NULL ? "" : route->sample));
    buf_add_char(out, '}');
}

/* The answer on success. */
static void add_answer(struct buf *out, const struct route *route, struct arena *arena)
{
    if (route->media == NULL && route->answer != NULL) {
        add_body(out, route->answer, arena);
        return;
    }
    buf_add_c(out, "\"content\":{");
    if (route->media == NULL)
        buf_printf(out, "\"application/json\":{\"schema\":{\"type\":\"object\"},\"example\":%s}",
                   route->sample == NULL ? "{}" : route->sample);
    for (size_t i = 0; route->media != NULL && route->media[i] != NULL; i++) {
        buf_add_c(out, i == 0 ? "" : ",");
        add_medium(out, route, route->media[i], arena);
    }
    buf_add_char(out, '}');
}

/* An error in the route's own shape and media types. */
static void add_own_refusal(struct buf *out, const struct route *route,
                            const struct refusal_doc *refusal, struct arena *arena)
{
    buf_printf(out, ",\"%d\":{\"description\":\"%s\",\"content\":{", refusal->status,
               refusal->status == 415 ? "The media type or encoding of the body is not accepted."
                                      : refusal->doc);
    for (size_t i = 0; route->media[i] != NULL; i++) {
        buf_add_c(out, i == 0 ? "" : ",");
        if (is_binary(route->media[i])) {
            add_binary(out, route->media[i]);
            continue;
        }
        buf_printf(out, "\"%s\":{\"schema\":{", route->media[i]);
        add_reference(out, route->refusal);
        buf_add_c(out, "},\"example\":");
        schema_write_example(route->refusal, arena, out);
        buf_add_char(out, '}');
    }
    buf_add_char(out, '}');
    add_headers(out, refusal->headers);
    buf_add_char(out, '}');
}

static void add_refusal(struct buf *out, const struct route *route, int status, struct arena *arena)
{
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        if (refusals[i].status != status)
            continue;
        if (route->refusal != NULL && refusals[i].example != NULL)
            add_own_refusal(out, route, &refusals[i], arena);
        else
            buf_printf(out, ",\"%d\":{\"$ref\":\"#/components/responses/%s\"}", status,
                       refusals[i].name);
    }
}

/* Of a route that answers 503 in a shape of its own. */
static void add_unavailable(struct buf *out, const struct route *route, struct arena *arena)
{
    if (route->unavailable == NULL) {
        add_refusal(out, route, 503, arena);
        return;
    }
    buf_add_c(out, ",\"503\":{\"description\":\"The service is overloaded or unavailable.\","
                   "\"content\":{\"application/json\":{\"schema\":{");
    add_reference(out, route->unavailable);
    buf_add_c(out, "},\"example\":{\"status\":\"unavailable\",\"reason\":\"the database does not "
                   "answer\"}}}");
    add_headers(out, ID);
    buf_add_char(out, '}');
}

/* Of success. */
static int headers_of(const struct route *route)
{
    const struct {
        bool has;
        int headers;
    } rows[] = {
        { route->auth != AUTH_OPEN, RATE },
        { route->tagged, TAG },
        { (route->sends & SENDS_COOKIE) != 0, COOKIE },
        { (route->sends & SENDS_FILE_NAME) != 0, FILE_NAME },
        { (route->sends & SENDS_MISSING_KEYS) != 0, MISSING },
    };
    int which = ID;

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        which |= rows[i].has ? rows[i].headers : 0;
    return which;
}

/* The responses of a route, by the columns of its row. */
static void add_responses(struct buf *out, const struct route *route, struct arena *arena)
{
    bool has_body = route->body != NULL || route->takes != NULL;
    bool judges = route->auth != AUTH_OPEN || has_body; /* the caller */
    const struct {
        int status;
        bool has;
    } rows[] = {
        { 202, (route->also & ALSO_ACCEPTED) != 0 },
        { 304, route->tagged },
        { 400, true },
        { 401, judges },
        { 402, (route->also & ALSO_BUDGET) != 0 },
        { 403, judges },
        { 404, route->params != NULL || (route->also & ALSO_NOT_FOUND) != 0 },
        { 409, route->audit != NULL || (route->also & ALSO_CONFLICT) != 0 },
        { 413, true },
        { 415, has_body },
        { 422, route->body != NULL || route->params != NULL || route->query != NULL },
        { 429, judges },
        { 500, route->auth == AUTH_READ || route->auth == AUTH_READ_KEY },
        { 507, (route->also & ALSO_QUOTA) != 0 },
    };

    buf_printf(out, ",\"responses\":{\"%d\":{\"description\":\"Success.\",", route->status);
    add_answer(out, route, arena);
    add_headers(out, headers_of(route));
    buf_add_char(out, '}');
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].has)
            add_refusal(out, route, rows[i].status, arena);
    add_unavailable(out, route, arena);
    buf_add_char(out, '}');
}

static void add_shared_refusal(struct buf *out, const struct refusal_doc *refusal)
{
    buf_printf(out, "\"%s\":{\"description\":\"%s\"", refusal->name, refusal->doc);
    if (refusal->example != NULL)
        buf_printf(out,
                   ",\"content\":{\"application/json\":{\"schema\":{\"$ref\":\"#/components/"
                   "schemas/%s\"},\"example\":%s}}",
                   refusal->status == 422 ? "HTTPValidationError" : error_answer_shape.name,
                   refusal->example);
    add_headers(out, refusal->headers);
    buf_add_char(out, '}');
}

/* "responses":{…},"headers":{…} of the components that the answers of routes refer to. */
static void add_shared(struct buf *out)
{
    buf_add_c(out, "\"responses\":{");
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        buf_add_c(out, i == 0 ? "" : ",");
        add_shared_refusal(out, &refusals[i]);
    }
    buf_add_c(out, "},\"headers\":{");
    for (size_t i = 0; i < COUNT_OF(headers); i++)
        buf_printf(out, "%s\"%s\":{\"description\":\"%s\",\"required\":%s,\"schema\":%s}",
                   i == 0 ? "" : ",", headers[i].name, headers[i].doc,
                   headers[i].required ? "true" : "false", headers[i].schema);
    buf_add_char(out, '}');
}

#define TITLE   "Agent Telemetry and Registration API"
#define VERSION "1.0.0"

enum { DOCUMENT_MAX = 8 << 20 };

static const char *const methods[] = { [METHOD_GET] = "get",
                                       [METHOD_POST] = "post",
                                       [METHOD_PUT] = "put",
                                       [METHOD_PATCH] = "patch",
                                       [METHOD_DELETE] = "delete" };

static void add_parameter(struct buf *out, const struct shape *shape, const struct field *field,
                          const char *in, struct arena *arena)
{
    struct str example = schema_example_of(shape, field->name, arena);
    struct field undescribed = *field;

    undescribed.doc = NULL; /* it describes the parameter, not its type */
    buf_printf(out, "{\"name\":\"%s\",\"in\":\"%s\",\"required\":%s", field->name, in,
               (field->flags & F_REQUIRED) != 0 ? "true" : "false");
    if (field->doc != NULL) {
        buf_add_c(out, ",\"description\":");
        buf_add_json(out, str_of(field->doc));
    }
    buf_add_c(out, ",\"schema\":");
    schema_write_field(&undescribed, out);
    if (!str_is_null(example)) {
        buf_add_c(out, ",\"example\":");
        buf_add(out, example);
    }
    buf_add_char(out, '}');
}

static void add_parameters(struct buf *out, const struct route *route, struct arena *arena)
{
    const struct {
        const char *in;
        const struct shape *shape;
    } places[] = { { "path", route->params }, { "query", route->query } };
    bool any = false;

    for (size_t p = 0; p < COUNT_OF(places); p++)
        for (size_t i = 0; places[p].shape != NULL && i < places[p].shape->n_fields; i++) {
            buf_add_c(out, any ? "," : ",\"parameters\":[");
            any = true;
            add_parameter(out, places[p].shape, &places[p].shape->fields[i], places[p].in, arena);
        }
    if (any)
        buf_add_char(out, ']');
}

/* auth_authorize() decides so: a personal access token is its user, but neither signs in and out
 * nor makes tokens. */
static void add_security(struct buf *out, const struct route *route)
{
    const struct {
        const char *scheme;
        bool has;
    } rows[] = {
        { "HTTPBearer", route->auth < AUTH_USER || route->auth == AUTH_READ },
        { "PersonalAccessToken",
          route->auth > AUTH_USER || (route->auth == AUTH_USER && route->method == METHOD_GET) },
        { "SessionCookie", route->auth >= AUTH_USER },
    };
    bool more = false;

    buf_add_c(out, ",\"security\":[");
    for (size_t i = 0; route->auth != AUTH_OPEN && i < COUNT_OF(rows); i++) {
        if (!rows[i].has)
            continue;
        buf_printf(out, "%s{\"%s\":[]}", more ? "," : "", rows[i].scheme);
        more = true;
    }
    buf_add_char(out, ']');
}

/* The route's description, and who may call it. */
static void add_description(struct buf *out, const struct route *route)
{
    static const char *const callers[] = {
        [AUTH_OPEN] = "No authentication.",
        [AUTH_ANY_KEY] = "Needs a key of any kind.",
        [AUTH_REPORT] = "Needs a workspace key or an agent key.",
        [AUTH_OWN_AGENT] = "Needs the agent's own key.",
        [AUTH_READ_KEY] = "Needs a workspace key or a read-only key.",
        [AUTH_USER] = "Needs a signed-in user; keys are refused.",
        [AUTH_READ] =
            "Needs a workspace key or a read-only key, or a user with a role in the workspace.",
        [AUTH_MEMBER] = "Needs a user with a role in the workspace; keys are refused.",
        [AUTH_ADMIN] = "Needs an admin of the workspace; keys are refused.",
        [AUTH_PLATFORM] = "Needs a platform admin; keys are refused.",
    };
    char text[1024];

    (void)snprintf(text, sizeof(text), "%s %s", route->description, callers[route->auth]);
    buf_add_c(out, ",\"description\":");
    buf_add_json(out, str_of(text));
}

static void add_operation(struct buf *out, const struct route_entry *entry, struct arena *arena)
{
    const struct route *route = entry->route;

    buf_printf(out, "\"%s\":{\"tags\":[\"%s\"],\"operationId\":\"%s\",\"summary\":",
               methods[route->method], entry->feature->name, route->id);
    buf_add_json(out, str_of(route->summary));
    add_description(out, route);
    add_parameters(out, route, arena);
    add_request(out, route, arena);
    add_responses(out, route, arena);
    add_security(out, route);
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

static void add_path(struct buf *out, const struct route_table *table, size_t first,
                     struct arena *arena)
{
    const char *path = table->entries[first].route->path;

    buf_printf(out, "\"%s\":{", path);
    for (size_t i = first; i < table->n; i++) {
        if (strcmp(table->entries[i].route->path, path) != 0)
            continue;
        if (i > first)
            buf_add_char(out, ',');
        add_operation(out, &table->entries[i], arena);
    }
    buf_add_char(out, '}');
}

static void add_paths(struct buf *out, const struct route_table *table, struct arena *arena)
{
    bool more = false;

    for (size_t i = 0; i < table->n; i++) {
        const struct route *route = table->entries[i].route;

        if (route->page || first_of_path(table, route->path) != i)
            continue;
        if (more)
            buf_add_char(out, ',');
        more = true;
        add_path(out, table, i, arena);
    }
}

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

/* The features that serve operations, in the order of their routes. */
static void add_tags(struct buf *out, const struct route_table *table)
{
    const struct feature *last = NULL;

    for (size_t i = 0; i < table->n; i++) {
        const struct feature *feature = table->entries[i].feature;

        if (table->entries[i].route->page || feature == last)
            continue;
        buf_printf(out, "%s{\"name\":\"%s\",\"description\":", last == NULL ? "" : ",",
                   feature->name);
        buf_add_json(out, str_of(feature->about));
        buf_add_char(out, '}');
        last = feature;
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

static const char head[] =
    "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"" TITLE "\",\"version\":\"" VERSION "\","
    "\"summary\":\"Agents report runs, KPIs and LLM usage; people read them back per tenant.\","
    "\"description\":\"Agents authenticate with a key: `Authorization: Bearer mst_…`. A success of "
    "a "
    "report means that it is durably stored. Every error is an object with `detail`: a sentence, "
    "or "
    "for 422 a list of problems. Requests count against the rate limit of the key; refused ones do "
    "not.\"},\"servers\":[{\"url\":\"/\",\"description\":\"The service that answers this "
    "document.\"}],\"tags\":[";

static const char schemes[] =
    "\"securitySchemes\":{\"HTTPBearer\":{\"type\":\"http\",\"scheme\":\"bearer\","
    "\"bearerFormat\":\"mst_…\",\"description\":\"The token of a key; each operation says of "
    "which kinds.\"},"
    "\"PersonalAccessToken\":{\"type\":\"http\",\"scheme\":\"bearer\",\"bearerFormat\":"
    "\"mst_pat_…\",\"description\":\"Acts as its user, with at most the role of the token.\"},"
    "\"SessionCookie\":{\"type\":\"apiKey\",\"in\":\"cookie\",\"name\":\"muster_session\","
    "\"description\":\"Changes also need the header X-CSRF-Token. Over TLS the name begins with "
    "__Host-.\"}}";

void openapi_write(const struct route_table *table, struct buf *out)
{
    BUF_SCOPED(compact, DOCUMENT_MAX);
    ARENA_SCOPED(arena);

    buf_add_c(&compact, head);
    add_tags(&compact, table);
    buf_add_c(&compact, "],\"paths\":{");
    add_paths(&compact, table, &arena);
    buf_add_c(&compact, "},\"components\":{\"schemas\":{");
    add_schemas(&compact, table);
    buf_add_c(&compact, "},");
    add_shared(&compact);
    buf_add_char(&compact, ',');
    buf_add_c(&compact, schemes);
    buf_add_c(&compact, "}}");
    indent(buf_str(&compact), out);
}

void openapi_init(struct openapi *o)
{
    lock_init(&o->lock);
    buf_init(&o->text, DOCUMENT_MAX);
}

void openapi_done(struct openapi *o)
{
    lock_acquire(&o->lock);
    buf_done(&o->text);
    lock_release(&o->lock);
    lock_done(&o->lock);
}

struct str openapi_text(struct openapi *o, const struct route_table *table)
{
    struct str text;

    lock_acquire(&o->lock);
    if (buf_str(&o->text).len == 0)
        openapi_write(table, &o->text);
    text = buf_str(&o->text);
    lock_release(&o->lock);
    assert(text.len > 0);
    return text;
}
