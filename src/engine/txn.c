/* txn.c - the states of a transaction. */
#include "engine/txn.h"

void txn_set_state(struct txn *txn, enum txn_state state)
{
    static const unsigned allowed[] = {
        [TXN_IDLE] = 1U << TXN_OPEN,
        [TXN_OPEN] = 1U << TXN_APPLIED | 1U << TXN_ROLLED_BACK,
        [TXN_APPLIED] = 1U << TXN_COMMITTED | 1U << TXN_ROLLED_BACK,
        [TXN_COMMITTED] = 1U << TXN_OPEN,
        [TXN_ROLLED_BACK] = 1U << TXN_OPEN,
    };

    ASSERT_ALWAYS((allowed[txn->state] & 1U << state) != 0);
    txn->state = state;
}
