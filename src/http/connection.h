/* connection.h - one client's connection. On its loop's thread only. */
#pragma once
#include "http/loop.h"

/* Who is at the other end. */
struct http_conn_peer {
    enum http_peer kind;
    uint8_t key[16]; /* what connections are counted by */
    char text[ADDRESS_TEXT_MAX];
};

struct http_conn {
    union http_handle h;
    struct http_loop *loop;
    struct http_conn *previous, *next; /* in the list of its state */
    int64_t since_us;                  /* entered its state, or last got on in it */
    enum http_conn_state state;
    enum http_conn_state after; /* where a reply that is being sent leads */
    struct http_call *call;     /* NULL between requests */
    struct http_parser parser;
    char *stash; /* bytes that came while a request was under way */
    size_t stash_at, stash_len;
    const struct str *input; /* what is being pumped, while `pumping` */
    int64_t body_began_us;
    size_t write_left;  /* when last looked at */
    size_t linger_left; /* bytes still to be drained at most */
    int moving_fd;      /* its socket, between two loops */
    unsigned n_small;   /* requests since the last large one */
    struct http_conn_peer peer;
    bool reading, eof;
    bool pumping;   /* its input is being worked on further up the stack */
    bool refused;   /* the current request cannot be trusted to end anywhere */
    bool cut_short; /* the current request went beyond its limit: the rest of it was not read */
    bool admitted;  /* counted in */
    bool over;      /* beyond the limits, only here to be told so */
};

/* A connection whose handle is initialised but not open yet; its loop owns it. */
struct http_conn *http_conn_new(struct http_loop *loop, bool is_unix);

/* The handle is open: reads on. */
void http_conn_start(struct http_conn *c);

/* Beyond the limits: answers 503 and closes. */
void http_conn_start_over(struct http_conn *c);

/* move.c: is this not the loop for its request, whose head is complete? Once for each. */
bool http_conn_must_move(struct http_conn *c);

/* move.c: in CONN_MOVING, with what came of the body stashed: sends it to the other loop. */
void http_conn_move(struct http_conn *c);

/* move.c: goes on with one that has left the other loop. */
void http_conn_take_up(struct http_loop *loop, struct http_conn *c);

/* Goes on with the body of a request that has waited after its head. */
void http_conn_read_on(struct http_call *call);

/* Sends the reply that was handed in for `call`, or drops it when the client has gone; or goes on
 * with what was handed in instead. */
void http_conn_posted(struct http_call *call);

/* It has been too long in its state. */
void http_conn_expired(struct http_conn *c);

/* The server stops: closes the connection unless a request is, or waits to be, under way. */
void http_conn_drain(struct http_conn *c);

/* At once. What the application has is dropped when it answers. */
void http_conn_close(struct http_conn *c);

/* send.c: half-closes and drains, so that the client gets to read the answer. */
void http_conn_linger(struct http_conn *c);

/* Goes on after a reply with what has come meanwhile. */
void http_conn_resume(struct http_conn *c);

/* send.c: the reply is out, or all of the stream: goes where c->after says. */
void http_conn_sent(struct http_conn *c);

/* send.c: the head of a stream's reply, in the loop's buffer, with c->after decided. */
struct str http_conn_stream_head(struct http_call *call, bool chunked);

/* libuv predates const but only reads what is written. */
uv_buf_t http_conn_buf(struct str s);

/* At once, without leaving the kernel with bytes that nobody takes: the client sees a failure. */
void http_conn_reset(struct http_conn *c);

/* Are there bytes that came after the current request? */
bool http_conn_has_leftover(const struct http_conn *c);
void http_conn_drop_stash(struct http_conn *c);

/* stream.c: the slots of the carrier. */
void http_stream_carry(struct http_exchange *x, const struct http_reply *head,
                       enum http_stream_kind kind);
bool http_stream_give(struct http_exchange *x, struct buf *part, bool may_wait);
void http_stream_finish(struct http_exchange *x, bool whole);

/* stream.c: sends what was given since it was last looked at. */
void http_stream_advance(struct http_call *call);

/* stream.c: the connection has gone; the producer will be told. */
void http_stream_lost(struct http_call *call);

/* stream.c: ends a stream that would not end by itself; others go on. */
void http_stream_stop(struct http_call *call);

/* stream.c: bytes that the client has taken since this was last asked. */
uint64_t http_stream_moved(struct http_call *call);

extern const struct http_carrier http_conn_carrier;
