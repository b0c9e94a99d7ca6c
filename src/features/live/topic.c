/* topic.c - one tenant's changes and last messages. */
#include "features/live/topic.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "features/metrics.h"

enum {
    CHANGES_MAX = 500,      /* between two flushes; beyond it clients get a reset */
    KEPT_BYTES = 256 << 10, /* of messages */
};

static void changes_init(struct topic_changes *changes)
{
    *changes = (struct topic_changes){ 0 };
    changes->last = &changes->first;
}

struct topic *topic_new(int64_t tenant_id, uint64_t epoch)
{
    struct topic *t = NEW(struct topic);

    t->tenant_id = tenant_id;
    t->epoch = epoch;
    map_init(&t->keys);
    changes_init(&t->changes);
    return t;
}

static void drop_oldest(struct topic *t)
{
    struct topic_message *message = t->first;

    if (message == NULL)
        return;
    t->first = message->next;
    t->bytes -= message->len;
    t->floor = message->number;
    free(message);
}

static void drop_all(struct topic *t)
{
    while (t->first != NULL)
        drop_oldest(t);
    t->newest = NULL;
}

void topic_free(struct topic *t)
{
    topic_drop(&t->changes);
    drop_all(t);
    map_done(&t->keys);
    free(t);
}

void topic_drop(struct topic_changes *changes)
{
    struct topic_change *change;

    while ((change = changes->first) != NULL) {
        changes->first = change->next;
        free(change);
    }
    changes_init(changes);
}

static struct topic_change *new_change(struct str key, struct str text)
{
    struct topic_change *change = mem_new(sizeof(*change) + key.len + text.len);
    char *bytes = (char *)(change + 1);

    memcpy(bytes, key.data, key.len);
    if (text.len > 0)
        memcpy(bytes + key.len, text.data, text.len);
    change->key = str_from(bytes, key.len);
    change->text = str_from(bytes + key.len, text.len);
    return change;
}

static void clear_keys(struct topic *t)
{
    map_done(&t->keys);
    map_init(&t->keys);
}

void topic_note(struct topic *t, enum change_kind kind, struct str key, struct str text,
                const char *status)
{
    struct topic_change *change;

    if (t->changes.too_many)
        return;
    change = kind == CHANGE_ALERT ? NULL : map_get(&t->keys, key);
    if (change != NULL) {
        change->status = status;
        return;
    }
    if (t->changes.n == CHANGES_MAX) {
        topic_drop(&t->changes);
        clear_keys(t);
        t->changes.too_many = true;
        return;
    }
    change = new_change(key, text);
    change->kind = kind;
    change->status = status;
    *t->changes.last = change;
    t->changes.last = &change->next;
    t->changes.n++;
    if (kind != CHANGE_ALERT)
        (void)map_put(&t->keys, change->key, change);
}

struct topic_changes topic_take(struct topic *t)
{
    struct topic_changes taken = t->changes;

    if (taken.first == NULL)
        taken.last = NULL;
    changes_init(&t->changes);
    clear_keys(t);
    return taken;
}

static void keep_message(struct topic *t, struct str text)
{
    struct topic_message *message = mem_new(sizeof(*message) + text.len);

    message->number = t->number;
    message->len = text.len;
    memcpy(message->text, text.data, text.len);
    if (t->newest != NULL)
        t->newest->next = message;
    else
        t->first = message;
    t->newest = message;
    t->bytes += text.len;
    while (t->bytes > KEPT_BYTES && t->first != message)
        drop_oldest(t);
}

static void begin_message(const struct topic *t, const char *event, struct buf *out)
{
    buf_printf(out, "id: %" PRIx64 "-%" PRIu64 "\nevent: %s\ndata: ", t->epoch, t->number, event);
}

/* A message without data: "ready", "reset". */
static void write_plain(const struct topic *t, const char *event, struct buf *out)
{
    begin_message(t, event, out);
    buf_add_c(out, "{}\n\n");
}

static void add_member(struct buf *out, const char *name, struct str value)
{
    buf_printf(out, "\"%s\":", name);
    buf_add_json(out, value);
}

static void write_change(const struct topic *t, const struct topic_change *change, struct buf *out)
{
    static const char *const events[] = { "run", "agent", "alert" };
    struct str name = str_from(change->key.data + 1, change->key.len - 1);

    begin_message(t, events[change->kind], out);
    if (change->kind == CHANGE_ALERT) {
        buf_add(out, change->text);
    } else if (change->kind == CHANGE_AGENT) {
        buf_add_char(out, '{');
        add_member(out, "agent_name", name);
        buf_add_char(out, '}');
    } else {
        buf_add_char(out, '{');
        add_member(out, "run_id", name);
        buf_add_char(out, ',');
        add_member(out, "agent_name", change->text);
        buf_add_char(out, ',');
        add_member(out, "status", str_of(change->status));
        buf_add_char(out, '}');
    }
    buf_add_c(out, "\n\n");
}

/* Anything may have changed: older ids are no longer valid. */
static void write_reset(struct topic *t, struct buf *out)
{
    drop_all(t);
    t->floor = t->number++;
    write_plain(t, "reset", out);
    keep_message(t, buf_str(out));
}

void topic_publish(struct topic *t, const struct topic_changes *changes, struct buf *out)
{
    buf_clear(out);
    if (changes->too_many)
        write_reset(t, out);
    for (const struct topic_change *c = changes->first; c != NULL; c = c->next) {
        size_t from = out->len;

        t->number++;
        write_change(t, c, out);
        keep_message(t, str_from(out->data + from, out->len - from));
    }
    metric_add(METRIC_FEED_MESSAGES, changes->n + changes->too_many);
}

/* The number in a message id; false when it is not an id of this topic, or the messages after it
 * are no longer all kept. */
static bool read_id(const struct topic *t, struct str id, uint64_t *ret)
{
    struct str number = id, epoch = str_split(&number, '-');
    char ours[32];
    int64_t value;
    int n = snprintf(ours, sizeof(ours), "%" PRIx64, t->epoch);

    if (!str_eq(epoch, str_from(ours, (size_t)n)) || !str_to_int(number, &value) || value < 0)
        return false;
    *ret = (uint64_t)value;
    return *ret >= t->floor && *ret <= t->number;
}

void topic_greet(const struct topic *t, struct str last_id, struct buf *out)
{
    uint64_t number;

    buf_clear(out);
    if (last_id.len == 0) {
        write_plain(t, "ready", out);
        return;
    }
    if (!read_id(t, last_id, &number)) {
        write_plain(t, "reset", out);
        return;
    }
    buf_add_c(out, ":\n\n");
    for (const struct topic_message *m = t->first; m != NULL; m = m->next)
        if (m->number > number)
            buf_add(out, str_from(m->text, m->len));
}

void changed_tenants_note(struct changed_tenants *t, int64_t tenant_id, bool others)
{
    if (!others || t->n > CHANGED_TENANTS_MAX)
        return;
    for (size_t i = t->n; i-- > 0;)
        if (t->tenants[i] == tenant_id)
            return;
    if (t->n < CHANGED_TENANTS_MAX)
        t->tenants[t->n] = tenant_id;
    t->n++;
}

bool changed_tenants_take(struct changed_tenants *t, struct buf *ret)
{
    const size_t n = t->n;

    if (n > CHANGED_TENANTS_MAX)
        buf_add(ret, STR_LIT("*"));
    for (size_t i = 0; i < n && n <= CHANGED_TENANTS_MAX; i++)
        buf_printf(ret, "%s%lld", i == 0 ? "" : " ", (long long)t->tenants[i]);
    t->n = 0;
    return n > 0;
}

bool changed_tenants_has(struct str text, int64_t tenant_id)
{
    char wanted[24];
    const int len = snprintf(wanted, sizeof(wanted), "%lld", (long long)tenant_id);
    struct str rest = text;

    if (text.len == 0 || text.data[0] == '*')
        return true;
    while (rest.len > 0) {
        const char *blank = memchr(rest.data, ' ', rest.len);
        const size_t n = blank == NULL ? rest.len : (size_t)(blank - rest.data);

        if (n == (size_t)len && memcmp(rest.data, wanted, n) == 0)
            return true;
        rest = blank == NULL ? STR_NULL : str_from(blank + 1, rest.len - n - 1);
    }
    return false;
}
