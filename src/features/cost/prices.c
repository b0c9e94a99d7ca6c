/* prices.c - the book shared by readers. */
#include "features/cost/prices.h"

#include <stdlib.h>

#include "base/lock.h"
#include "base/mem.h"
#include "features/cost/price_book.h"

struct prices {
    struct lock lock;
    struct price_book *book GUARDED_BY(lock); /* NULL at first */
};

struct prices *prices_new(void)
{
    struct prices *p = NEW(struct prices);

    lock_init(&p->lock);
    return p;
}

void prices_free(struct prices *p)
{
    if (p == NULL)
        return;
    lock_unshared(&p->lock);
    price_book_release(p->book);
    lock_done(&p->lock);
    free(p);
}

/* A reference to the cached book if it holds, otherwise NULL. */
static struct price_book *hold_current(struct prices *p, const struct db *db, int64_t number)
{
    struct price_book *book = NULL;

    lock_acquire(&p->lock);
    if (p->book != NULL && price_book_holds(p->book, db, number)) {
        book = p->book;
        price_book_hold(book);
    }
    lock_release(&p->lock);
    return book;
}

static void set_current(struct prices *p, struct price_book *book)
{
    struct price_book *old;

    price_book_hold(book);
    lock_acquire(&p->lock);
    old = p->book;
    p->book = book;
    lock_release(&p->lock);
    price_book_release(old);
}

int prices_book(struct prices *p, struct db *db, struct price_book **ret, struct error *err)
{
    int64_t number;

    if (store_prices_number(db, &number, err) != 0)
        return -1;
    *ret = hold_current(p, db, number);
    if (*ret != NULL)
        return 0;
    if (price_book_load(db, ret, err) != 0)
        return -1;
    set_current(p, *ret);
    return 0;
}
