/* events.h - run events as a fleet sends them: event number n of a seed is always the same bytes.
 *
 * Ids look random, so that an index of them is hit at random; a run has ten
 * events, and the events of several runs are interleaved. A text is made by
 * copying the one of its kind and writing into its holes, about 50 ns, so that
 * who sends it costs little beside who takes it in.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum {
    EVENTS_A_RUN = 10,
    AGENTS = 20,
    UUID_LEN = 36,
    AGENT_DIGITS = 2,
    NEW_AGENT_DIGITS = 12, /* four of the seed, eight of the event's number */
    EVENT_BYTES_MAX = 640,
    EVENT_KINDS = 4,
    EVENT_HOLES_MAX = 16,
};

/* In the order of the store's own numbers for them. */
enum event_kind { KIND_STARTED, KIND_COMPLETED, KIND_FAILED, KIND_STEP };

/* What stands at a fixed place in the text of a kind. */
enum event_part {
    PART_AGENT,
    PART_MESSAGE,
    PART_CATEGORY,
    PART_SOURCE,
    PART_METADATA,
    PART_METRICS,
    EVENT_PARTS
};

struct part_place {
    size_t offset, len;
};

struct event_hole {
    char what;
    size_t offset;
};

struct event_text {
    char text[EVENT_BYTES_MAX];
    size_t len, n_holes;
    struct event_hole holes[EVENT_HOLES_MAX];
    struct part_place parts[EVENT_PARTS];
};

struct event_source {
    uint64_t seed;
    uint64_t open_runs;   /* interleaved */
    uint64_t first_agent; /* of a source of new agents; else 0 */
    struct event_text texts[EVENT_KINDS];
};

/* What the number says. */
struct event_facts {
    uint64_t run; /* runs are numbered from 0 too */
    unsigned seq;
    enum event_kind kind;
    int64_t timestamp_us;
};

/* Two sources with different seeds have no id in common. `open_runs` is at least 1. */
void events_init(struct event_source *s, const char *tenant, uint64_t seed, uint64_t open_runs);

/* The same, but each event is the start of a run of an agent that reports for the first time. */
void events_init_new_agents(struct event_source *s, const char *tenant, uint64_t seed);

struct event_facts events_facts(const struct event_source *s, uint64_t number);

/* Writes the JSON, at most EVENT_BYTES_MAX bytes, no NUL; returns its length. */
size_t events_write(const struct event_source *s, uint64_t number, char *to);

/* UUID_LEN bytes, no NUL. */
void events_event_id(const struct event_source *s, uint64_t number, char *to);
void events_run_id(const struct event_source *s, uint64_t run, char *to);
