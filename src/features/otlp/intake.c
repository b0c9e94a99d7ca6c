/* intake.c - whose the records of a request are, and in which order they are stored. */
#include "features/otlp/intake.h"

#include <assert.h>

#include "base/map.h"

enum { AGENT_NAME_MAX = 256, UTF8_MAX = 4, KEY_BYTES = OTLP_TRACE_BYTES + OTLP_SPAN_BYTES };

void intake_open(struct intake *in)
{
    in->refusal = STR_NULL;
    in->origins = (struct rows){ .arena = in->arena, .size = sizeof(struct intake_origin) };
    in->events = (struct rows){ .arena = in->arena, .size = sizeof(struct telemetry_event) };
    in->usages = (struct rows){ .arena = in->arena, .size = sizeof(struct intake_usage) };
    buf_init(&in->scratch, in->bytes_max);
}

void intake_drop(struct intake *in)
{
    buf_done(&in->scratch);
}

void intake_refuse(struct intake *in, const char *what, const struct otlp_id *id, const char *flaw)
{
    char hex[2 * OTLP_SPAN_BYTES];
    struct str digits = otlp_hex(id, OTLP_SPAN_BYTES, hex);

    if (in->n_refused++ == 0)
        in->refusal = arena_printf(in->arena, "%s %.*s: %s", what, STR_ARG(digits), flaw);
}

static struct str key_of(const struct otlp_id *trace, const struct otlp_id *span,
                         char ret[KEY_BYTES])
{
    memcpy(ret, trace->bytes, OTLP_TRACE_BYTES);
    memcpy(ret + OTLP_TRACE_BYTES, span->bytes, OTLP_SPAN_BYTES);
    return str_from(ret, KEY_BYTES);
}

/* The span above, if it is in this request. A log record is below the span it names. */
static struct intake_origin *above(const struct map *spans, const struct intake_origin *origin)
{
    char key[KEY_BYTES];

    if (!origin->is_span)
        return map_get(spans, key_of(&origin->trace, &origin->span, key));
    if (!origin->has_parent)
        return NULL;
    return map_get(spans, key_of(&origin->trace, &origin->parent, key));
}

/* SDKs say so when they are given no name. */
static bool is_a_name(struct str service)
{
    return service.len > 0 && !str_starts(service, STR_LIT("unknown_service"));
}

/* What a record is called that neither it nor a span above it names. */
static struct str fallback(const struct intake *in, const struct intake_origin *origin)
{
    if (!str_is_null(in->bound_to) && !is_a_name(origin->service))
        return in->bound_to;
    return origin->service;
}

/* Walks up to a span whose agent is known, or known to be unknown, then the same way again to tell
 * the others. Each is visited once, so all walks together take time in proportion to the spans.
 * Parents may form a circle. */
static void find_agent(const struct map *spans, struct intake_origin *origin)
{
    struct intake_origin *at = origin;
    struct str agent = STR_NULL;
    size_t steps = 0;

    for (; at != NULL && !at->visited && str_is_null(at->agent); at = above(spans, at)) {
        at->visited = true;
        steps++;
    }
    if (at != NULL)
        agent = at->agent;
    for (at = origin; steps > 0; steps--) {
        at->agent = agent;
        at = above(spans, at);
    }
}

static void map_spans(const struct intake *in, struct map *ret)
{
    struct intake_origin *origins = in->origins.items;
    char(*keys)[KEY_BYTES] = arena_alloc(in->arena, in->origins.n * KEY_BYTES);

    map_init(ret);
    for (size_t i = 0; i < in->origins.n; i++)
        if (origins[i].is_span)
            (void)map_put(ret, key_of(&origins[i].trace, &origins[i].span, keys[i]), &origins[i]);
}

/* Gives a record its agent; one without a valid name is refused and has no events. */
static void name_agent(struct intake *in, struct intake_origin *origin)
{
    const char *flaw = NULL;

    if (str_is_null(origin->agent))
        origin->agent = fallback(in, origin);
    if (origin->agent.len == 0)
        flaw = "it names no agent: set the resource attribute service.name, or gen_ai.agent.name";
    else if (origin->agent.len > (size_t)UTF8_MAX * AGENT_NAME_MAX ||
             utf8_count(origin->agent) > AGENT_NAME_MAX)
        flaw = "the name of its agent has more than 256 characters";
    if (flaw == NULL)
        return;
    intake_refuse(in, origin->is_span ? "span" : "log record of span", &origin->span, flaw);
    origin->n_events = 0;
}

/* Copies the events of the roots, or of all other records, to `ret` after the first *n_placed. */
static void place_events(const struct intake *in, bool roots, struct telemetry_event *ret,
                         size_t *n_placed)
{
    const struct telemetry_event *events = in->events.items;
    struct intake_origin *origins = in->origins.items;

    for (size_t i = 0; i < in->origins.n; i++) {
        struct intake_origin *origin = &origins[i];

        if ((origin->is_span && !origin->has_parent) != roots)
            continue;
        for (size_t j = 0; j < origin->n_events; j++) {
            ret[*n_placed + j] = events[origin->first_event + j];
            ret[*n_placed + j].agent_name = origin->agent;
        }
        origin->first_event = *n_placed;
        *n_placed += origin->n_events;
    }
}

/* Two libraries that trace the same call have a span each, one below the other, with nothing but
 * generic spans between. Each span is marked once for each kind, so this takes time in proportion
 * to the spans. What is above a marked call is marked already. */
static void mark_above(const struct map *spans, const struct intake_origin *call)
{
    struct intake_origin *at = call->below & call->kind ? NULL : above(spans, call);

    for (; at != NULL && at != call && !(at->below & call->kind); at = above(spans, at)) {
        if (at->kind != CALL_NONE && at->kind != call->kind)
            break;
        at->below |= call->kind;
    }
}

static void place_usages(struct intake *in, const struct map *spans)
{
    const struct intake_origin *origins = in->origins.items;
    struct intake_usage *usages = in->usages.items;
    size_t n = 0;

    for (size_t i = 0; i < in->usages.n; i++)
        if (origins[usages[i].origin].n_events > 0)
            mark_above(spans, &origins[usages[i].origin]);

    for (size_t i = 0; i < in->usages.n; i++) {
        const struct intake_origin *origin = &origins[usages[i].origin];

        if (origin->n_events == 0 || (origin->below & origin->kind))
            continue;
        usages[n] = usages[i];
        usages[n++].usage.agent_name = origin->agent;
    }
    in->usages.n = n;
}

struct str intake_close(struct intake *in)
{
    struct telemetry_event *placed = ARENA_ARRAY(in->arena, struct telemetry_event, in->events.n);
    struct intake_origin *origins = in->origins.items;
    struct str stranger = STR_NULL;
    size_t n_placed = 0;
    struct map spans;

    buf_done(&in->scratch);
    map_spans(in, &spans);
    for (size_t i = 0; i < in->origins.n; i++)
        find_agent(&spans, &origins[i]);
    for (size_t i = 0; i < in->origins.n; i++) {
        name_agent(in, &origins[i]);
        if (str_is_null(stranger) && origins[i].n_events > 0 && !str_is_null(in->bound_to) &&
            !str_eq(origins[i].agent, in->bound_to))
            stranger = origins[i].agent;
    }
    place_events(in, true, placed, &n_placed);
    place_events(in, false, placed, &n_placed);
    in->events = (struct rows){ .arena = in->arena, .items = placed, .n = n_placed };
    place_usages(in, &spans);
    map_done(&spans);
    return stranger;
}
