/* logs.c - a log record as a step of the run that its trace id names.
 *
 * Records have no id of their own. The event's id is made of a digest of what
 * the record says, so the same record again changes nothing.
 */
#include "features/otlp/intake.h"

#include "base/digest.h"

enum { SEQ_STEP = 1, NAME_BYTES_MAX = 256, MESSAGE_BYTES_MAX = 16384 };

static const char *flaw_of(const struct otlp_log *log)
{
    if (log->flaw != NULL)
        return log->flaw;
    if (log->time_ns > INT64_MAX || log->observed_ns > INT64_MAX)
        return OTLP_FLAW_TIME;
    if (!log->trace.valid)
        return "it has no valid trace id, so it belongs to no run";
    return NULL;
}

/* Severities are in fours: trace, debug, info, warning, error, fatal. */
static struct str level_of(const struct otlp_log *log)
{
    if (log->severity == 0 || log->severity > 24)
        return STR_LIT("info"); /* unspecified */
    if (log->severity <= 8)
        return STR_LIT("debug");
    if (log->severity <= 12)
        return STR_LIT("info");
    return log->severity <= 16 ? STR_LIT("warning") : STR_LIT("error");
}

static void write_metadata(const struct otlp_log *log, struct str service, struct buf *out)
{
    char hex[2 * OTLP_SPAN_BYTES];

    buf_add_char(out, '{');
    if (log->span.valid)
        intake_add_member(out, "parent_span_id", otlp_hex(&log->span, OTLP_SPAN_BYTES, hex));
    intake_add_member(out, "severity", intake_cut(log->severity_text, NAME_BYTES_MAX));
    intake_add_member(out, "service.name", intake_cut(service, NAME_BYTES_MAX));
    intake_add_member(out, "scope", intake_cut(log->scope, NAME_BYTES_MAX));
    buf_add_char(out, '}');
}

/* Everything the record carries; a body that is text is the message of the event. */
static const char *write_output(struct intake *in, const struct otlp_log *log, struct str *ret)
{
    struct buf *out = intake_write(in);

    buf_add_c(out, "{\"attributes\":");
    if (!otlp_attributes_write(log->attributes.items, log->attributes.n, out))
        return OTLP_FLAW_NESTED;
    if (log->body.kind != OTLP_NONE && log->body.kind != OTLP_TEXT) {
        buf_add_c(out, ",\"body\":");
        if (!otlp_value_write(&log->body, out))
            return OTLP_FLAW_NESTED;
    }
    buf_add_char(out, '}');
    *ret = intake_keep(in);
    return str_is_null(*ret) ? OTLP_FLAW_SIZE : NULL;
}

/* A long name of a scope may be that of many records, so it is read once for all of them. */
static struct str scope_of(struct intake *in, const struct otlp_log *log)
{
    struct otlp_id id = { .valid = true };
    struct mark mark;

    if (log->scope.len <= NAME_BYTES_MAX)
        return log->scope;
    if (in->scope.data != log->scope.data || in->scope.len != log->scope.len) {
        mark = digest_mark(log->scope);
        memcpy(id.bytes, mark.bytes, MARK_BYTES);
        in->scope = log->scope;
        in->scope_mark = otlp_hex(&id, MARK_BYTES, arena_alloc(in->arena, (size_t)2 * MARK_BYTES));
    }
    return in->scope_mark;
}

/* "log-" and the digest of everything that tells this record from another one of its span. */
static struct str part_of(struct intake *in, const struct otlp_log *log, struct str output)
{
    struct buf *out = intake_write(in);
    char digits[2 * MARK_BYTES];
    struct otlp_id id = { .valid = true };
    struct mark mark;

    out->max = in->bytes_max; /* it is not kept, and is the same however much room is left */
    buf_printf(out, "%llu %llu %llu ", (unsigned long long)log->time_ns,
               (unsigned long long)(log->time_ns == 0 ? log->observed_ns : 0),
               (unsigned long long)log->severity);
    buf_add_json(out, log->event_name);
    buf_add_json(out, scope_of(in, log));
    buf_add_json(out, log->severity_text);
    buf_add(out, output);
    if (log->body.kind == OTLP_TEXT)
        buf_add(out, log->body.text);
    mark = digest_mark(buf_str(out));
    memcpy(id.bytes, mark.bytes, MARK_BYTES);
    return arena_printf(in->arena, "log-%.*s", (int)sizeof(digits),
                        otlp_hex(&id, MARK_BYTES, digits).data);
}

static struct str message_of(const struct otlp_log *log)
{
    struct str text = log->body.kind == OTLP_TEXT ? log->body.text : log->event_name;

    return intake_cut(text, MESSAGE_BYTES_MAX);
}

static int64_t time_of(const struct intake *in, const struct otlp_log *log)
{
    uint64_t ns = log->time_ns != 0 ? log->time_ns : log->observed_ns;

    return ns != 0 ? (int64_t)(ns / 1000) : in->received_at;
}

static const char *fill_event(struct intake *in, const struct otlp_log *log,
                              const struct intake_origin *origin, const struct known_values *known,
                              struct telemetry_event *ret)
{
    const struct known_values *resource = &intake_resource(in, log->resource)->known;
    const struct str version = known_text(resource, KNOWN_SERVICE_VERSION);
    const char *flaw;

    *ret = (struct telemetry_event){
        .agent_version = str_is_null(version) ? STR_LIT("") : intake_cut(version, NAME_BYTES_MAX),
        .client_id = in->slug,
        .run_id = intake_run_id(in, &log->trace),
        .event = EVENT_IN_PROGRESS,
        .timestamp = time_of(in, log),
        .error_type = intake_cut(known_text(known, KNOWN_EXCEPTION_TYPE), NAME_BYTES_MAX),
        .error_message = intake_cut(known_text(known, KNOWN_EXCEPTION_MESSAGE), MESSAGE_BYTES_MAX),
        .message = message_of(log),
        .level = level_of(log),
        .category = intake_cut(log->event_name, NAME_BYTES_MAX),
        .source = intake_source(in, known),
        .seq = SEQ_STEP,
        .metrics = STR_LIT("{}"),
        .links = STR_LIT("[]"),
    };
    flaw = write_output(in, log, &ret->output);
    if (flaw != NULL)
        return flaw;
    ret->event_id = intake_event_id(in, origin, part_of(in, log, ret->output).data);
    write_metadata(log, origin->service, intake_write(in));
    ret->metadata = intake_keep(in);
    return str_is_null(ret->metadata) ? OTLP_FLAW_SIZE : NULL;
}

static const char *take_log(struct intake *in, const struct otlp_log *log)
{
    const char *flaw = flaw_of(log);
    const struct known_values *resource;
    struct known_values known;
    struct telemetry_event event;
    struct intake_origin origin;

    if (flaw != NULL)
        return flaw;
    known_find(log->attributes.items, log->attributes.n, &known);
    resource = &intake_resource(in, log->resource)->known;
    origin = (struct intake_origin){ .trace = log->trace,
                                     .span = log->span,
                                     .agent = known_text(&known, KNOWN_AGENT),
                                     .service = known_text(resource, KNOWN_SERVICE),
                                     .first_event = in->events.n,
                                     .n_events = 1 };
    if (str_is_null(origin.agent))
        origin.agent = known_text(resource, KNOWN_AGENT);
    flaw = fill_event(in, log, &origin, &known, &event);
    if (flaw != NULL)
        return flaw;
    *(struct intake_origin *)rows_add(&in->origins) = origin;
    *(struct telemetry_event *)rows_add(&in->events) = event;
    return NULL;
}

bool intake_on_log(void *ctx, const struct otlp_log *log)
{
    struct intake *in = ctx;
    const char *flaw;

    if (!intake_count(in))
        return false;
    flaw = take_log(in, log);
    if (flaw != NULL)
        intake_refuse(in, "log record of span", &log->span, flaw);
    return true;
}
