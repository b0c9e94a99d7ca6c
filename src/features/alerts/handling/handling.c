/* handling.c - acknowledgements, notes and reminders, and the history they make. */
#include "features/alerts/handling/handling.h"

#include "features/access/stored_bytes.h"
#include "features/alerts/alert_notes.h"
#include "features/alerts/alerts.h"
#include "features/alerts/handling/store.h"
#include "features/alerts/store.h"

enum { COUNTED_MAX = 100000 };

static int not_found(struct str alert_id, struct error *err)
{
    return err_set(err, ERR_NOT_FOUND, "There is no alert '%.*s'", STR_ARG(alert_id));
}

static struct alert_entry_row entry_of(const struct handling *by, struct str alert_id,
                                       struct str what)
{
    return (struct alert_entry_row){ by->tenant_id,
                                     alert_id,
                                     { alerts_make_id(by->arena, "ale_", by->at), by->at, what,
                                       by->actor, by->note } };
}

/* Adds the note to the alert, which is locked by that until the transaction ends: it is not deleted
 * before its history has the entry, too. */
static int set_note(const struct handling *by, struct str alert_id, struct error *err)
{
    bool found;

    if (store_alert_note(by->db, by->tenant_id, alert_id, by->note, &found, err) != 0)
        return -1;
    return found ? 0 : not_found(alert_id, err);
}

/* Adds the entry, unless the history is full. The alert is locked by the caller's change of it. */
static int add_entry(const struct handling *by, struct str alert_id, struct str what,
                     bool *ret_full, struct error *err)
{
    const struct alert_entry_row row = entry_of(by, alert_id, what);

    if (store_alert_history_is_full(by->db, by->tenant_id, alert_id, ret_full, err) != 0)
        return -1;
    if (*ret_full)
        return 0;
    if (!str_is_null(by->note))
        stored_bytes_add(by->bytes, by->tenant_id, (int64_t)(STORED_ROW_BYTES + by->note.len));
    return store_alert_history_add(by->db, &row, err);
}

/* Adds the entry, and its note to the alert. A full history stays as it is. */
static int record(const struct handling *by, struct str alert_id, struct str what,
                  struct error *err)
{
    bool full;

    if (!str_is_null(by->note) && set_note(by, alert_id, err) != 0)
        return -1;
    return add_entry(by, alert_id, what, &full, err);
}

/* Reads the alert again and tells those who listen. */
static int publish(const struct handling *by, struct str alert_id, struct alert *ret,
                   struct error *err)
{
    struct alert_row row;

    if (store_alert(by->db, by->tenant_id, alert_id, by->arena, &row, err) != 0)
        return -1;
    if (str_is_null(row.alert_id)) /* deleted since it was found */
        return not_found(alert_id, err);
    alert_notes_add_change(by->notes, &row);
    if (ret != NULL)
        *ret = alerts_answer(&row);
    return 0;
}

static int find(const struct handling *by, struct str alert_id, bool *ret, struct error *err)
{
    struct alert_row row;

    if (store_alert(by->db, by->tenant_id, alert_id, by->arena, &row, err) != 0)
        return -1;
    *ret = !str_is_null(row.alert_id);
    return 0;
}

/* An alert that is acknowledged already stays as it is, as does one that is not known. */
static int acknowledge(const struct handling *by, struct str alert_id, bool *ret_first,
                       struct error *err)
{
    const struct alert_entry_row row = entry_of(by, alert_id, STR_LIT("acknowledged"));

    if (store_alert_acknowledge(by->db, &row, ret_first, err) != 0)
        return -1;
    return *ret_first ? record(by, alert_id, row.entry.what, err) : 0;
}

int handling_acknowledge(const struct handling *by, struct str alert_id, struct alert *ret,
                         struct error *err)
{
    bool found, first;

    if (find(by, alert_id, &found, err) != 0)
        return -1;
    if (!found)
        return not_found(alert_id, err);
    if (acknowledge(by, alert_id, &first, err) != 0)
        return -1;
    return publish(by, alert_id, ret, err);
}

int handling_acknowledge_all(const struct handling *by, const struct list *alert_ids,
                             struct list *ret, struct error *err)
{
    const struct str *ids = alert_ids->items;
    struct str *done = ARENA_ARRAY(by->arena, struct str, alert_ids->n + 1);
    struct handling one = *by;
    ARENA_SCOPED(scratch); /* of one alert, so that memory does not grow with them */
    int r = 0;

    *ret = (struct list){ done, 0 };
    one.arena = &scratch;
    for (size_t i = 0; r == 0 && i < alert_ids->n; i++) {
        bool first = false;

        r = acknowledge(&one, ids[i], &first, err);
        if (r == 0 && first) {
            r = publish(&one, ids[i], NULL, err);
            done[ret->n++] = ids[i];
        }
        arena_reset(&scratch);
    }
    return r;
}

int handling_unacknowledge(const struct handling *by, struct str alert_id, struct alert *ret,
                           struct error *err)
{
    bool found, first;

    if (find(by, alert_id, &found, err) != 0)
        return -1;
    if (!found)
        return not_found(alert_id, err);
    if (store_alert_unacknowledge(by->db, by->tenant_id, alert_id, &first, err) != 0 ||
        (first && record(by, alert_id, STR_LIT("unacknowledged"), err) != 0))
        return -1;
    return publish(by, alert_id, ret, err);
}

int handling_note(const struct handling *by, struct str alert_id, struct alert *ret,
                  struct error *err)
{
    bool full;

    if (set_note(by, alert_id, err) != 0 ||
        add_entry(by, alert_id, STR_LIT("note"), &full, err) != 0)
        return -1;
    if (full) /* the note is taken back with the transaction */
        return err_set(err, ERR_CONFLICT, "The alert has %d entries already", ALERT_HISTORY_MAX);
    return publish(by, alert_id, ret, err);
}

int handling_remind(const struct handling *by, const struct alert_row *row, bool *ret,
                    struct error *err)
{
    const struct alert_entry_row entry = entry_of(by, row->alert_id, STR_LIT("reminded"));
    const int64_t before = row->reminded_at == TIME_NULL ? row->opened_at : row->reminded_at;

    if (store_alert_remind(by->db, &entry, before, ret, err) != 0)
        return -1;
    return *ret ? store_alert_history_remind(by->db, &entry, err) : 0;
}

int handling_history(struct db *db, int64_t tenant_id, struct str alert_id, struct arena *arena,
                     struct alert_history *ret, struct error *err)
{
    struct alert_row row;

    if (store_alert(db, tenant_id, alert_id, arena, &row, err) != 0)
        return -1;
    if (str_is_null(row.alert_id))
        return not_found(alert_id, err);
    return store_alert_history(db, tenant_id, alert_id, arena, &ret->entries, err);
}

int handling_count(struct db *db, int64_t tenant_id, struct arena *arena, struct alert_counts *ret,
                   struct error *err)
{
    const struct alert_count *counts;

    *ret = (struct alert_counts){ 0 };
    if (store_alert_counts(db, tenant_id, COUNTED_MAX, arena, &ret->types, err) != 0)
        return -1;
    counts = ret->types.items;
    for (size_t i = 0; i < ret->types.n; i++) {
        ret->open += counts[i].open;
        ret->unacknowledged += counts[i].unacknowledged;
    }
    ret->complete = ret->open < COUNTED_MAX;
    return 0;
}
