/* alert_notes.c - alerts of a transaction, collected for live updates. */
#include "features/alerts/alert_notes.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/metrics.h"
#include "features/alerts/alerts.h"
#include "features/alerts/shapes.h"
#include "features/live/feed.h"

enum {
    NOTES_MAX = 1000, /* published per transaction; the rest is only in the list of alerts */
    NOTE_BYTES_MAX = 64 << 10
};

struct alert_note {
    struct alert_note *next;
    int64_t tenant_id;
    struct str type;
    bool opened;
    struct str json;
};

struct alert_notes {
    struct arena arena;
    struct alert_note *first, **end;
    size_t n;
};

struct alert_notes *alert_notes_new(void)
{
    struct alert_notes *notes = NEW(struct alert_notes);

    notes->end = &notes->first;
    arena_init(&notes->arena);
    return notes;
}

void alert_notes_free(struct alert_notes *notes)
{
    if (notes == NULL)
        return;
    arena_done(&notes->arena);
    free(notes);
}

static void add_note(struct alert_notes *notes, const struct alert_row *row, bool opened)
{
    const struct alert alert = alerts_answer(row);
    struct alert_note *note;
    BUF_SCOPED(json, NOTE_BYTES_MAX);

    if (notes == NULL || notes->n == NOTES_MAX)
        return;
    shape_write_json(&alert_shape, &alert, &json);
    if (!json.overflown) {
        note = ARENA_NEW(&notes->arena, struct alert_note);
        note->tenant_id = row->tenant_id;
        note->type = arena_copy(&notes->arena, row->type);
        note->opened = opened;
        note->json = arena_copy(&notes->arena, buf_str(&json));
        *notes->end = note;
        notes->end = &note->next;
        notes->n++;
    }
}

void alert_notes_add(struct alert_notes *notes, const struct alert_row *row)
{
    /* a run.failed alert is closed from the start */
    add_note(notes, row, row->open || row->closed_at == row->opened_at);
}

void alert_notes_add_change(struct alert_notes *notes, const struct alert_row *row)
{
    add_note(notes, row, false);
}

static void count_opened(struct str type)
{
    static const struct {
        const char *type;
        enum metric metric;
    } metrics[] = {
        { "agent.silent", METRIC_ALERTS_SILENT },
        { "run.failed", METRIC_ALERTS_FAILED },
        { "run.stuck", METRIC_ALERTS_STUCK },
        { "kpi.crossed", METRIC_ALERTS_KPI },
        { "budget.exceeded", METRIC_ALERTS_BUDGET },
        { "budget.forecast", METRIC_ALERTS_FORECAST },
        { "agent.failing", METRIC_ALERTS_FAILING },
        { "failure_rate.exceeded", METRIC_ALERTS_RATE },
        { "duration.exceeded", METRIC_ALERTS_DURATION },
    };

    for (size_t i = 0; i < COUNT_OF(metrics); i++)
        if (str_eq_c(type, metrics[i].type))
            metric_add(metrics[i].metric, 1);
}

void alert_notes_publish(struct alert_notes *notes, struct feed *feed)
{
    for (const struct alert_note *note = notes->first; note != NULL; note = note->next) {
        if (note->opened)
            count_opened(note->type);
        feed_note_alert(feed, note->tenant_id, note->json);
    }
}

void alert_notes_clear(struct alert_notes *notes)
{
    notes->first = NULL;
    notes->end = &notes->first;
    notes->n = 0;
    arena_reset(&notes->arena);
}
