/* admission.c - counts connections, in total and per address. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/metrics.h"
#include "http/internal.h"
#include "http/server.h"

void http_admission_init(struct http_admission *a, const struct http_options *options,
                         void (*wake)(struct http_charge *evicted))
{
    budgets_init(&a->unlimited);
    a->budgets = options->budgets != NULL ? options->budgets : &a->unlimited;
    a->exempt = options->exempt;
    http_bodies_init(&a->bodies, wake);
    lock_init(&a->lock);
    map_init(&a->addresses);
}

void http_admission_done(struct http_admission *a)
{
    struct http_address *address;
    size_t at = 0;

    lock_unshared(&a->lock);
    while ((address = map_next(&a->addresses, &at)) != NULL)
        free(address);
    map_done(&a->addresses);
    lock_done(&a->lock);
    http_bodies_done(&a->bodies);
}

struct http_address *http_admission_find(struct http_admission *a, const struct address *from)
{
    const struct address network = address_network(from);
    struct http_address *address;

    lock_acquire(&a->lock);
    address = map_get(&a->addresses, address_bytes(&network));
    if (address == NULL) {
        address = NEW(struct http_address);
        address->network = network;
        budget_init(&address->budget, &a->budgets->address_level, &a->budgets->open);
        (void)map_put(&a->addresses, address_bytes(&address->network), address);
    }
    address->holders++;
    lock_release(&a->lock);
    return address;
}

void http_admission_hold(struct http_admission *a, struct http_address *address)
{
    if (address == NULL)
        return;
    lock_acquire(&a->lock);
    assert(address->holders > 0);
    address->holders++;
    lock_release(&a->lock);
}

void http_admission_release(struct http_admission *a, struct http_address *address)
{
    if (address == NULL)
        return;
    lock_acquire(&a->lock);
    assert(address->holders > 0);
    if (--address->holders == 0) {
        assert(budget_used(&address->budget, BUDGET_CONNECTIONS) == 0);
        assert(budget_used(&address->budget, BUDGET_BODY_BYTES) == 0);
        assert(budget_used(&address->budget, BUDGET_REPLY_BYTES) == 0);
        assert(budget_used(&address->budget, BUDGET_PIPELINED) == 0);
        (void)map_remove(&a->addresses, address_bytes(&address->network));
        free(address);
    }
    lock_release(&a->lock);
}

static struct budget *node_of(struct http_admission *a, struct http_address *address)
{
    return address != NULL ? &address->budget : &a->budgets->open;
}

bool http_admission_keep(struct http_admission *a, struct http_address *address, size_t n,
                         bool must)
{
    struct budget *node = node_of(a, address);

    if (!must)
        return budget_take(node, BUDGET_PIPELINED, (int64_t)n);
    budget_force(node, BUDGET_PIPELINED, (int64_t)n);
    return true;
}

void http_admission_kept(struct http_admission *a, struct http_address *address, size_t n)
{
    budget_give(node_of(a, address), BUDGET_PIPELINED, (int64_t)n);
}

bool http_admission_enter(struct http_admission *a, const struct address *from, enum http_peer kind,
                          struct http_address **ret)
{
    bool alone = kind == PEER_OPERATOR || (a->exempt != NULL && address_list_has(a->exempt, from));
    struct http_address *address = alone ? NULL : http_admission_find(a, from);

    if (kind == PEER_OPERATOR) {
        budget_force(&a->budgets->service, BUDGET_CONNECTIONS, 1);
    } else if (!budget_take(node_of(a, address), BUDGET_CONNECTIONS, 1)) {
        http_admission_release(a, address);
        return false;
    }
    metric_move(GAUGE_CONNECTIONS, 1);
    *ret = address;
    return true;
}

void http_admission_leave(struct http_admission *a, struct http_address *address,
                          enum http_peer kind)
{
    metric_move(GAUGE_CONNECTIONS, -1);
    budget_give(kind == PEER_OPERATOR ? &a->budgets->service : node_of(a, address),
                BUDGET_CONNECTIONS, 1);
    http_admission_release(a, address);
}
