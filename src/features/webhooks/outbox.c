/* outbox.c - messages, and their deliveries to webhooks in steps. */
#include "features/webhooks/outbox.h"

#include <assert.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "features/webhooks/store.h"
#include "shape/rows.h"

enum {
    MESSAGE_DIGITS = 24,
    STEP_DELIVERIES = 200, /* per step: about 5 ms of the writer */
};

static struct str make_message_id(struct arena *arena)
{
    char digits[MESSAGE_DIGITS];

    digest_random_base62(digits, sizeof(digits));
    return arena_printf(arena, "msg_%.*s", MESSAGE_DIGITS, digits);
}

/* Is the type in the comma-separated list? An empty list means all types but those of failing
 * agents: run.failed has told of each run already. */
static bool has_type(struct str types, struct str type)
{
    if (types.len == 0)
        return !str_eq_c(type, "agent.failing") && !str_eq_c(type, "agent.healthy");
    while (!str_is_null(types))
        if (str_eq(str_split(&types, ','), type))
            return true;
    return false;
}

static bool subscribes(const struct webhook_row *webhook, struct str type)
{
    return webhook->enabled && has_type(webhook->types, type);
}

static int add_messages(struct db *db, const struct outbox_message *messages, size_t n,
                        struct arena *arena, struct error *err)
{
    struct message_row *rows;
    bool subscribed;

    if (webhook_store_subscribed(db, messages[0].tenant_id, messages[0].type, &subscribed, err) !=
        0)
        return -1;
    if (!subscribed)
        return 0;
    rows = ARENA_ARRAY(arena, struct message_row, n);
    for (size_t i = 0; i < n; i++) {
        assert(messages[i].tenant_id == messages[0].tenant_id &&
               str_eq(messages[i].type, messages[0].type));
        rows[i] = (struct message_row){ .tenant_id = messages[i].tenant_id,
                                        .message_id = make_message_id(arena),
                                        .type = messages[i].type,
                                        .created_at = messages[i].at,
                                        .data = messages[i].data };
    }
    return delivery_store_messages_add(db, rows, n, arena, err);
}

int outbox_add(struct db *db, const struct outbox_message *messages, size_t n, struct error *err)
{
    ARENA_SCOPED(arena);

    assert(n > 0);
    return add_messages(db, messages, n, &arena, err);
}

/* What a step adds: deliveries of a tenant to its webhooks. */
struct fan {
    struct list webhooks;  /* of struct webhook_row */
    struct rows delivered; /* of struct delivery_row: to be stored */
    int64_t room;          /* deliveries that may be added */
    int64_t dropped;       /* deliveries that did not fit */
};

static void add_deliveries(const struct message_row *message, struct fan *fan, struct arena *arena)
{
    const struct webhook_row *rows = fan->webhooks.items;
    int64_t now = clock_wall_us();

    for (size_t i = 0; i < fan->webhooks.n; i++) {
        if (!subscribes(&rows[i], message->type))
            continue;
        if (fan->room == 0) {
            fan->dropped++;
            continue;
        }
        *(struct delivery_row *)rows_add(&fan->delivered) =
            (struct delivery_row){ .tenant_id = message->tenant_id,
                                   .delivery_id = digest_time_id("dlv_", now, arena),
                                   .webhook_id = rows[i].webhook_id,
                                   .message = *message,
                                   .created_at = now,
                                   .next_at = now };
        fan->room--;
    }
}

static int fan_out(struct db *db, int64_t tenant_id, struct arena *arena, struct error *err)
{
    const struct message_row *messages;
    struct fan fan = { .delivered = { .arena = arena, .size = sizeof(struct delivery_row) } };
    struct list pending;
    int64_t limit, waiting;

    if (webhook_store_list(db, tenant_id, arena, &fan.webhooks, err) != 0 ||
        delivery_store_waiting(db, tenant_id, DELIVERIES_WAITING_MAX, &waiting, err) != 0)
        return -1;
    fan.room = DELIVERIES_WAITING_MAX - waiting;
    limit = fan.webhooks.n == 0 ? STEP_DELIVERIES : STEP_DELIVERIES / (int64_t)fan.webhooks.n;
    if (delivery_store_messages_pending(db, tenant_id, limit > 0 ? limit : 1, arena, &pending,
                                        err) != 0)
        return -1;
    messages = pending.items;
    for (size_t i = 0; i < pending.n; i++) {
        add_deliveries(&messages[i], &fan, arena);
        if (delivery_store_message_end_pending(db, &messages[i], err) != 0)
            return -1;
    }
    if (fan.delivered.n > 0 &&
        delivery_store_add(db, fan.delivered.items, fan.delivered.n, arena, err) != 0)
        return -1;
    if (fan.dropped > 0)
        log_write(LOG_WARNING, "webhook",
                  "tenant %lld has %d pending deliveries: %lld more were not created",
                  (long long)tenant_id, DELIVERIES_WAITING_MAX, (long long)fan.dropped);
    return 0;
}

int outbox_fan_out(struct db *db, int64_t tenant_id, struct error *err)
{
    ARENA_SCOPED(arena);

    return fan_out(db, tenant_id, &arena, err);
}
