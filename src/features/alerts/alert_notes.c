/* alert_notes.c - alerts of a transaction, on their way to those who listen. */
#include "features/alerts/alert_notes.h"

#include "base/buf.h"
#include "base/metrics.h"
#include "features/alerts/alerts.h"
#include "features/alerts/shapes.h"
#include "features/live/feed.h"

enum {
    NOTES_MAX = 1000, /* told of one transaction; who misses some looks at the list */
    NOTE_BYTES_MAX = 64 << 10
};

struct alert_note {
    struct alert_note *next;
    int64_t tenant_id;
    struct str type;
    bool opened;
    struct str json;
};

void alert_notes_init(struct alert_notes *notes)
{
    *notes = (struct alert_notes){ 0 };
    notes->end = &notes->first;
    arena_init(&notes->arena);
}

void alert_notes_done(struct alert_notes *notes)
{
    arena_done(&notes->arena);
}

void alert_notes_add(struct alert_notes *notes, const struct alert_row *row)
{
    const struct alert alert = alerts_answer(row);
    struct alert_note *note;
    struct buf json;

    if (notes == NULL || notes->n == NOTES_MAX)
        return;
    buf_init(&json, NOTE_BYTES_MAX);
    shape_write_json(&alert_shape, &alert, &json);
    if (!json.overflown) {
        note = ARENA_NEW(&notes->arena, struct alert_note);
        note->tenant_id = row->tenant_id;
        note->type = arena_copy(&notes->arena, row->type);
        note->opened = row->open || row->closed_at == row->opened_at;
        note->json = arena_copy(&notes->arena, buf_str(&json));
        *notes->end = note;
        notes->end = &note->next;
        notes->n++;
    }
    buf_done(&json);
}

static void count(struct str type)
{
    static const struct {
        const char *type;
        enum metric metric;
    } metrics[] = {
        { "agent.silent", METRIC_ALERTS_SILENT },    { "run.failed", METRIC_ALERTS_FAILED },
        { "run.stuck", METRIC_ALERTS_STUCK },        { "kpi.crossed", METRIC_ALERTS_KPI },
        { "budget.exceeded", METRIC_ALERTS_BUDGET },
    };

    for (size_t i = 0; i < COUNT_OF(metrics); i++)
        if (str_eq_c(type, metrics[i].type))
            metric_add(metrics[i].metric, 1);
}

void alert_notes_publish(struct alert_notes *notes, struct feed *feed)
{
    for (const struct alert_note *note = notes->first; note != NULL; note = note->next) {
        if (note->opened)
            count(note->type);
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
