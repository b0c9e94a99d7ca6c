/* events.c - makes events by number out of four texts with holes. */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILED_ONE_IN = 16, STEP_US = 10000, DAYS = 31 };

/* 2026-01-01T00:00:00Z; an event's time grows with its number, for DAYS, which is more events than
 * are stored. */
static const int64_t month_us = 1767225600000000, day_us = 86400000000;

/* Holes: E event id, R run id, T day and time, A agent, S seq, N a number of five digits. */
#define HOLE_E "\001"
#define HOLE_R "\002"
#define HOLE_T "\003"
#define HOLE_A "\004"
#define HOLE_S "\005"
#define HOLE_N "\006"

static const size_t hole_len[] = { 0, UUID_LEN, UUID_LEN, 18, AGENT_DIGITS, 1, 5 };

/* clang-format off */
#define HEAD(event)                                                                                \
    "{\"event_id\":\"" HOLE_E "\",\"agent_name\":\"invoice-bot-" HOLE_A "\","                      \
    "\"agent_version\":\"2.4.1\",\"client_id\":\"%s\",\"run_id\":\"" HOLE_R "\","                  \
    "\"event\":\"" event "\",\"timestamp\":\"2026-01-" HOLE_T "Z\",\"seq\":" HOLE_S ","         \
    "\"level\":\"info\","

static const char *const texts[EVENT_KINDS] = {
    [KIND_STARTED] = HEAD("started")
        "\"message\":\"Run started by the schedule, reading mailbox " HOLE_N "\",\"category\":\"intake\","
        "\"source\":\"runner.py:88\",\"metadata\":{\"trigger\":\"schedule\",\"region\":\"eu-west-1\","
        "\"host\":\"worker-" HOLE_N "\",\"queue\":\"invoices\"},\"metrics\":{\"queue_depth\":1" HOLE_N "}}",
    [KIND_STEP] = HEAD("in_progress")
        "\"message\":\"Posted invoice " HOLE_N " to the ledger\",\"category\":\"posting\","
        "\"source\":\"ledger.py:214\",\"metadata\":{\"customer\":\"c-" HOLE_N "\",\"region\":\"eu-west-1\","
        "\"currency\":\"EUR\"},\"metrics\":{\"latency_ms\":1" HOLE_N ",\"lines\":4,\"confidence\":0.9" HOLE_N "}}",
    [KIND_COMPLETED] = HEAD("completed")
        "\"duration_ms\":1" HOLE_N ",\"records_processed\":1" HOLE_N ","
        "\"message\":\"All invoices posted\",\"category\":\"closing\","
        "\"source\":\"runner.py:131\",\"metadata\":{\"region\":\"eu-west-1\",\"queue\":\"invoices\"},"
        "\"metrics\":{\"invoices\":1" HOLE_N ",\"amount\":1" HOLE_N ".25}}",
    [KIND_FAILED] = HEAD("failed")
        "\"duration_ms\":1" HOLE_N ",\"records_processed\":1" HOLE_N ",\"error_type\":\"LedgerTimeout\","
        "\"error_message\":\"no answer in 30 s\","
        "\"message\":\"Gave up after three attempts\",\"category\":\"closing\","
        "\"source\":\"runner.py:131\",\"metadata\":{\"region\":\"eu-west-1\"},"
        "\"metrics\":{\"invoices\":1" HOLE_N "}}",
};

static const struct {
    const char *before, *after;
} part_marks[EVENT_PARTS] = {
    [PART_AGENT]    = { "\"agent_name\":\"", "\"" },
    [PART_MESSAGE]  = { "\"message\":\"",    "\"" },
    [PART_CATEGORY] = { "\"category\":\"",   "\"" },
    [PART_SOURCE]   = { "\"source\":\"",     "\"" },
    [PART_METADATA] = { "\"metadata\":",     ",\"metrics" },
    [PART_METRICS]  = { "\"metrics\":",      NULL },
};
/* clang-format on */

/* A bijection, so that no two numbers get the same id. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static char *put_hex(char *to, uint64_t value, unsigned digits)
{
    for (unsigned i = 0; i < digits; i++)
        *to++ = "0123456789abcdef"[(value >> (60 - 4 * i)) & 15];
    return to;
}

static void put_uuid(char *to, uint64_t seed, uint64_t number)
{
    uint64_t high = mix(number ^ seed), low = mix(high ^ number);

    to = put_hex(to, high, 8);
    *to++ = '-';
    to = put_hex(to, high << 32, 4);
    *to++ = '-';
    to = put_hex(to, ((high << 48) >> 4) | (4ull << 60), 4);
    *to++ = '-';
    to = put_hex(to, (low >> 2) | (1ull << 63), 4);
    *to++ = '-';
    (void)put_hex(to, (low << 16) ^ (high << 60), 12);
}

static void put_decimal(char *to, unsigned digits, uint64_t value)
{
    while (digits-- > 0) {
        to[digits] = (char)('0' + value % 10);
        value /= 10;
    }
}

static void put_time(char *to, int64_t timestamp_us)
{
    uint64_t day = (uint64_t)((timestamp_us - month_us) / day_us);
    uint64_t us = (uint64_t)((timestamp_us - month_us) % day_us), seconds = us / 1000000;

    put_decimal(to, 2, day + 1);
    to[2] = 'T';
    to += 3;
    to[2] = to[5] = ':';
    to[8] = '.';
    put_decimal(to, 2, seconds / 3600);
    put_decimal(to + 3, 2, seconds / 60 % 60);
    put_decimal(to + 6, 2, seconds % 60);
    put_decimal(to + 9, 6, us % 1000000);
}

static void find_parts(struct event_text *t)
{
    for (size_t i = 0; i < EVENT_PARTS; i++) {
        const char *from =
            memmem(t->text, t->len, part_marks[i].before, strlen(part_marks[i].before));
        const char *after = part_marks[i].after;
        size_t left;

        if (from == NULL)
            abort();
        from += strlen(part_marks[i].before);
        left = t->len - (size_t)(from - t->text);
        t->parts[i].offset = (size_t)(from - t->text);
        t->parts[i].len = after == NULL
                              ? left - 1 /* the event's own brace */
                              : (size_t)((char *)memmem(from, left, after, strlen(after)) - from);
    }
}

/* Opens the holes. */
static void prepare(struct event_text *t, const char *format, const char *tenant,
                    size_t agent_digits)
{
    const char *slug = strstr(format, "%s");
    char text[EVENT_BYTES_MAX];
    int n =
        snprintf(text, sizeof(text), "%.*s%s%s", (int)(slug - format), format, tenant, slug + 2);

    if (n < 0 || (size_t)n + (size_t)EVENT_HOLES_MAX * 5 + 2 * (size_t)UUID_LEN > sizeof(text))
        abort();
    memset(t, 0, sizeof(*t));
    for (const char *c = text; *c != '\0'; c++) {
        const size_t len = *c == HOLE_A[0] ? agent_digits : *c > '\006' ? 1 : hole_len[(int)*c];

        memset(t->text + t->len, *c > '\006' ? *c : '0', len);
        if (*c <= '\006')
            t->holes[t->n_holes++] = (struct event_hole){ .what = *c, .offset = t->len };
        t->len += len;
    }
    find_parts(t);
}

static void init(struct event_source *s, const char *tenant, uint64_t seed, size_t agent_digits)
{
    s->seed = seed << 40; /* numbers stay below */
    s->first_agent = 0;
    for (size_t i = 0; i < EVENT_KINDS; i++)
        prepare(&s->texts[i], texts[i], tenant, agent_digits);
}

void events_init(struct event_source *s, const char *tenant, uint64_t seed, uint64_t open_runs)
{
    init(s, tenant, seed, AGENT_DIGITS);
    s->open_runs = open_runs > 0 ? open_runs : 1;
}

void events_init_new_agents(struct event_source *s, const char *tenant, uint64_t seed)
{
    init(s, tenant, seed, NEW_AGENT_DIGITS);
    s->open_runs = UINT64_MAX / EVENTS_A_RUN; /* no event is a run's second */
    s->first_agent = (1000 + seed % 9000) * 100000000u;
}

struct event_facts events_facts(const struct event_source *s, uint64_t number)
{
    uint64_t block = s->open_runs * EVENTS_A_RUN, in_block = number % block;
    struct event_facts f = { .run = number / block * s->open_runs + in_block % s->open_runs,
                             .seq = (unsigned)(in_block / s->open_runs),
                             .kind = KIND_STEP,
                             .timestamp_us = month_us + (int64_t)number %
                                                            (DAYS * (day_us / STEP_US)) * STEP_US };

    if (f.seq == 0)
        f.kind = KIND_STARTED;
    else if (f.seq == EVENTS_A_RUN - 1)
        f.kind = f.run % FAILED_ONE_IN == 0 ? KIND_FAILED : KIND_COMPLETED;
    return f;
}

void events_event_id(const struct event_source *s, uint64_t number, char *to)
{
    put_uuid(to, s->seed, number);
}

void events_run_id(const struct event_source *s, uint64_t run, char *to)
{
    put_uuid(to, s->seed ^ (1ull << 39), run);
}

size_t events_write(const struct event_source *s, uint64_t number, char *to)
{
    struct event_facts f = events_facts(s, number);
    const struct event_text *t = &s->texts[f.kind];
    uint64_t some = mix(number + 1);

    memcpy(to, t->text, t->len);
    for (size_t i = 0; i < t->n_holes; i++) {
        char *hole = to + t->holes[i].offset;

        switch (t->holes[i].what) {
        case 1:
            events_event_id(s, number, hole);
            break;
        case 2:
            events_run_id(s, f.run, hole);
            break;
        case 3:
            put_time(hole, f.timestamp_us);
            break;
        case 4:
            if (s->first_agent > 0)
                put_decimal(hole, NEW_AGENT_DIGITS, s->first_agent + number);
            else
                put_decimal(hole, AGENT_DIGITS, f.run % AGENTS);
            break;
        case 5:
            put_decimal(hole, 1, f.seq);
            break;
        default:
            put_decimal(hole, 5, some & 0xffff);
            some >>= 16;
            break;
        }
    }
    return t->len;
}
