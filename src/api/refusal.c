/* refusal.c - what a call is refused with: the status, the sentence and a header. */
#include <stdarg.h>
#include <stdio.h>

#include "api/api.h"
#include "api/call.h"
#include "shape/timerange.h"

enum { RETRY_LEAST_S = 1, RETRY_SPREAD_S = 5 };

/* Random, so that refused clients do not all retry at once. */
static struct str retry_after(struct api_call *call, int status)
{
    int64_t seconds =
        status == 429 ? call->rate.reset_s : RETRY_LEAST_S + digest_random_below(RETRY_SPREAD_S);

    return arena_printf(call->arena, "%lld", (long long)(seconds < 1 ? 1 : seconds));
}

static int note_refusal(struct api_call *call, struct error *err,
                        const struct call_refusal *refusal)
{
    call->refusal = ARENA_NEW(call->arena, struct call_refusal);
    *call->refusal = *refusal;
    return err_set(err, ERR_INVALID, "%.*s", STR_ARG(refusal->body.detail));
}

int call_refuse(struct api_call *call, struct error *err, int status, const char *fmt, ...)
{
    struct call_refusal refusal = { .status = status };
    char sentence[2048];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof(sentence), fmt, args);
    va_end(args);
    refusal.body.detail = arena_copy(call->arena, str_of(sentence));
    if (status == 429 || status == 503)
        refusal.header = (struct http_header){ STR_LIT("Retry-After"), retry_after(call, status) };
    return note_refusal(call, err, &refusal);
}

int call_refuse_share(struct api_call *call, struct error *err, const struct budget *full,
                      enum budget_kind kind)
{
    static const char *const what[BUDGET_KINDS] = {
        [BUDGET_BODY_BYTES] = "request bodies in progress",
        [BUDGET_REPLY_BYTES] = "replies that were not read yet",
        [BUDGET_EVENTS] = "events waiting to be stored",
        [BUDGET_WRITER_US] = "time to store data",
        [BUDGET_READS] = "waiting reads",
        [BUDGET_EXPORTS] = "running exports",
        [BUDGET_STREAMS] = "open live update streams",
        [BUDGET_CONNECTIONS] = "open connections",
        [BUDGET_PIPELINED] = "requests sent ahead",
    };
    const struct budget_level *level = full->level;

    if (str_eq_c(STR_LIT("tenant"), level->name))
        return call_refuse(call, err, 503, "Your workspace's share of %s is used up; retry later",
                           what[kind]);
    if (str_eq_c(STR_LIT("service"), level->name))
        return call_refuse(call, err, 503,
                           "The service is overloaded (%s) and stored nothing of this request; "
                           "retry later",
                           what[kind]);
    if (str_eq_c(STR_LIT("open"), level->name))
        return call_refuse(call, err, 503,
                           "The share of %s for all callers without a key is used up; retry later",
                           what[kind]);
    return call_refuse(call, err, 503, "Your %s's share of %s is used up; retry later", level->name,
                       what[kind]);
}

int call_refuse_size(struct api_call *call, struct error *err, size_t limit, const char *unit)
{
    const struct call_refusal refusal = {
        .status = 413,
        .body = { .detail = arena_printf(
                      call->arena, "The request is too large: the limit is %zu %s", limit, unit),
                  .limit = { true, (int64_t)limit },
                  .unit = str_of(unit) },
    };

    return note_refusal(call, err, &refusal);
}

int call_refuse_caller(struct api_call *call, struct error *err, bool had_token)
{
    static const struct call_refusal refusals[] = {
        { .status = 401,
          .body = { .detail = STR_INIT("Not authenticated") },
          .header = { STR_INIT("WWW-Authenticate"), STR_INIT("Bearer") } },
        { .status = 401,
          .body = { .detail = STR_INIT("Invalid or expired token") },
          .header = { STR_INIT("WWW-Authenticate"), STR_INIT("Bearer error=\"invalid_token\"") } },
    };

    return note_refusal(call, err, &refusals[had_token]);
}

int call_refuse_method(struct api_call *call, struct error *err, struct str allowed)
{
    const struct call_refusal refusal = { .status = 405,
                                          .body = { .detail = STR_LIT("Method Not Allowed") },
                                          .header = { STR_LIT("Allow"), allowed } };

    return note_refusal(call, err, &refusal);
}

int call_refuse_input(struct api_call *call, struct error *err, struct problems *problems)
{
    call->problems = problems;
    return err_set(err, ERR_INVALID, "the input is not valid");
}

int call_refuse_body(struct api_call *call, struct error *err, const char *name, struct str value,
                     const char *sentence)
{
    const struct problem_step step = { .name = str_of(name) };
    struct problems *problems = problems_new(call->arena, "body");

    if (str_is_null(value))
        problems_add_rule(problems, &step, 1, STR_NULL, sentence);
    else
        rule_refuse_text(problems, call->arena, name, value, sentence);
    return call_refuse_input(call, err, problems);
}

int call_refuse_query(struct api_call *call, struct error *err, const char *name, struct str value,
                      const char *sentence)
{
    struct problems *problems = problems_new(call->arena, "query");

    rule_refuse_text(problems, call->arena, name, value, sentence);
    return call_refuse_input(call, err, problems);
}
