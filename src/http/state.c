/* state.c - the lists of connections by state, and the moves between them.
 *
 * The one place where the state of a connection changes. connection.c draws the moves.
 */
#include "http/internal.h"

#define TO(state) (1U << (state))

/* A state in its own row: the connection makes progress, and its time starts again. */
static const unsigned allowed[CONN_STATES] = {
    [CONN_IDLE] = TO(CONN_HEAD) | TO(CONN_HANDSHAKE) | TO(CONN_CLOSING),
    [CONN_HEAD] = TO(CONN_BODY) | TO(CONN_MOVING) | TO(CONN_BUSY) | TO(CONN_WRITE) | TO(CONN_SKIP) |
                  TO(CONN_LINGER) | TO(CONN_CLOSING),
    [CONN_BODY] =
        TO(CONN_BODY) | TO(CONN_BUSY) | TO(CONN_WRITE) | TO(CONN_LINGER) | TO(CONN_CLOSING),
    [CONN_SKIP] = TO(CONN_IDLE) | TO(CONN_CLOSING),
    [CONN_BUSY] = TO(CONN_BODY) | TO(CONN_MOVING) | TO(CONN_IDLE) | TO(CONN_SKIP) | TO(CONN_WRITE) |
                  TO(CONN_LINGER) | TO(CONN_CLOSING),
    [CONN_WRITE] = TO(CONN_WRITE) | TO(CONN_BUSY) | TO(CONN_IDLE) | TO(CONN_SKIP) |
                   TO(CONN_LINGER) | TO(CONN_CLOSING),
    [CONN_HANDSHAKE] = TO(CONN_IDLE) | TO(CONN_CLOSING),
    [CONN_LINGER] = TO(CONN_LINGER) | TO(CONN_CLOSING),
    [CONN_CLOSING] = 0,
    [CONN_MOVING] = TO(CONN_BODY),
};

void http_conn_list_remove(struct http_conn *c)
{
    struct http_conn_list *list = &c->loop->lists[c->state];

    assert(http_loop_is_mine(c->loop));
    assert((c->previous == NULL) == (list->first == c));
    assert((c->next == NULL) == (list->last == c));
    if (c->previous != NULL)
        c->previous->next = c->next;
    else
        list->first = c->next;
    if (c->next != NULL)
        c->next->previous = c->previous;
    else
        list->last = c->previous;
}

void http_conn_list_add(struct http_conn *c, enum http_conn_state state)
{
    struct http_conn_list *list = &c->loop->lists[state];

    assert(http_loop_is_mine(c->loop));
    c->state = state;
    c->since_us = c->loop->now_us;
    c->previous = list->last;
    c->next = NULL;
    if (list->last != NULL)
        list->last->next = c;
    else
        list->first = c;
    list->last = c;
}

void http_conn_enter(struct http_conn *c, enum http_conn_state state)
{
    assert((allowed[c->state] & TO(state)) != 0);
    (void)allowed; /* in release */
    http_conn_list_remove(c);
    http_conn_list_add(c, state);
}
