/* outbox.c - one message, one delivery per webhook. */
#include "features/webhooks/outbox.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/digest.h"
#include "features/webhooks/deliveries_store.h"
#include "features/webhooks/store.h"

enum { MESSAGE_DIGITS = 24, TIME_DIGITS = 11, DELIVERY_DIGITS = 10 };

static struct str make_message_id(struct arena *arena)
{
    char digits[MESSAGE_DIGITS];

    digest_random_base62(digits, sizeof(digits));
    return arena_printf(arena, "msg_%.*s", MESSAGE_DIGITS, digits);
}

/* Ids sort by time, so that the newest deliveries are found by id. */
static struct str make_delivery_id(struct arena *arena, int64_t now)
{
    char digits[TIME_DIGITS + DELIVERY_DIGITS];

    digest_base62((uint64_t)now, digits, TIME_DIGITS);
    digest_random_base62(digits + TIME_DIGITS, DELIVERY_DIGITS);
    return arena_printf(arena, "dlv_%.*s", TIME_DIGITS + DELIVERY_DIGITS, digits);
}

/* Is the type in the comma-separated list? An empty list means all types. */
static bool has_type(struct str types, struct str type)
{
    bool all = types.len == 0;

    while (!all && !str_is_null(types))
        if (str_eq(str_split(&types, ','), type))
            return true;
    return all;
}

static int add_message(struct db *db, const struct outbox_message *message, struct arena *arena,
                       struct error *err)
{
    struct message_row row = { .tenant_id = message->tenant_id,
                               .message_id = make_message_id(arena),
                               .type = message->type,
                               .created_at = message->at,
                               .data = message->data };
    int64_t now = clock_wall_us();
    const struct webhook_row *webhooks;
    bool stored = false;
    struct list found;

    if (store_webhooks(db, message->tenant_id, arena, &found, err) != 0)
        return -1;
    webhooks = found.items;
    for (size_t i = 0; i < found.n; i++) {
        const struct delivery_row delivery = { .tenant_id = message->tenant_id,
                                               .delivery_id = make_delivery_id(arena, now),
                                               .webhook_id = webhooks[i].webhook_id,
                                               .message = row,
                                               .created_at = now,
                                               .next_at = now };

        if (!webhooks[i].enabled || !has_type(webhooks[i].types, message->type))
            continue;
        if (!stored && store_message_add(db, &row, err) != 0)
            return -1;
        stored = true;
        if (store_delivery_add(db, &delivery, err) != 0)
            return -1;
    }
    return 0;
}

int outbox_add(struct db *db, const struct outbox_message *message, struct error *err)
{
    struct arena arena;
    int r;

    arena_init(&arena);
    r = add_message(db, message, &arena, err);
    arena_done(&arena);
    return r;
}
