/* admission.c - how many connections there are, in all and from each address. */
#include "http/admission.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/metrics.h"

struct address {
    uint8_t key[ADDRESS_KEY_LEN];
    unsigned n;
};

void http_admission_init(struct http_admission *a, const struct http_limits *limits)
{
    a->limits = *limits;
    atomic_init(&a->bodies.used, 0);
    a->bodies.max = limits->bodies_max;
    atomic_init(&a->total, 0);
    atomic_init(&a->streams, 0);
    lock_init(&a->lock);
    map_init(&a->addresses);
}

void http_admission_done(struct http_admission *a)
{
    struct address *address;
    size_t at = 0;

    lock_unshared(&a->lock);
    while ((address = map_next(&a->addresses, &at)) != NULL)
        free(address);
    map_done(&a->addresses);
    lock_done(&a->lock);
}

static struct str key_str(const uint8_t *key)
{
    return str_from((const char *)key, ADDRESS_KEY_LEN);
}

static bool enter_address(struct http_admission *a, const uint8_t *key)
{
    struct address *address;
    bool fits;

    lock_acquire(&a->lock);
    address = map_get(&a->addresses, key_str(key));
    if (address == NULL) {
        address = NEW(struct address);
        memcpy(address->key, key, ADDRESS_KEY_LEN);
        (void)map_put(&a->addresses, key_str(address->key), address);
    }
    fits = address->n < a->limits.per_address; /* at least 1, so a new one is never refused */
    if (fits)
        address->n++;
    lock_release(&a->lock);
    return fits;
}

static void leave_address(struct http_admission *a, const uint8_t *key)
{
    struct address *address;

    lock_acquire(&a->lock);
    address = map_get(&a->addresses, key_str(key));
    assert(address != NULL && address->n > 0); /* it was counted when it entered */
    if (address != NULL && --address->n == 0) {
        (void)map_remove(&a->addresses, key_str(key));
        free(address);
    }
    lock_release(&a->lock);
}

bool http_admission_enter(struct http_admission *a, const uint8_t key[ADDRESS_KEY_LEN],
                          enum http_peer kind)
{
    unsigned before = atomic_fetch_add_explicit(&a->total, 1, memory_order_relaxed);

    if (kind == PEER_OPERATOR ||
        (before < a->limits.connections && (a->limits.per_address == 0 || enter_address(a, key)))) {
        metric_move(GAUGE_CONNECTIONS, 1);
        return true;
    }
    (void)atomic_fetch_sub_explicit(&a->total, 1, memory_order_relaxed);
    return false;
}

void http_admission_leave(struct http_admission *a, const uint8_t key[ADDRESS_KEY_LEN],
                          enum http_peer kind)
{
    metric_move(GAUGE_CONNECTIONS, -1);
    (void)atomic_fetch_sub_explicit(&a->total, 1, memory_order_relaxed);
    if (kind != PEER_OPERATOR && a->limits.per_address != 0)
        leave_address(a, key);
}
