/* part.h - pieces of a stream's body, and queues of them. One thread at a time. */
#pragma once
#include <stdbool.h>
#include <uv.h>

#include "base/buf.h"

struct http_conn;

enum { CHUNK_LINE_MAX = 20 };

struct http_part {
    struct http_part *next;
    uv_write_t write;
    struct http_conn *conn; /* once it is libuv's */
    char *data;
    size_t len;
    char line[CHUNK_LINE_MAX]; /* of a chunk: its size */
    size_t line_len;
    bool in_body; /* counts against what the producer may queue */
    bool last;    /* the stream has ended once it is sent */
};

struct http_parts {
    struct http_part *first, **last;
};

/* Takes the data over, heap memory or NULL. The caller owns the part. */
struct http_part *http_part_new(char *data_take, size_t len);

/* A part of the body; takes its bytes out of `bytes`. */
struct http_part *http_part_of(struct buf *bytes);

void http_part_free(struct http_part *part);

/* Makes a chunk of it: its size before it, an end of line behind. */
void http_part_frame(struct http_part *part);

void http_parts_init(struct http_parts *p);
void http_parts_add(struct http_parts *p, struct http_part *part);

/* The first, or NULL. */
struct http_part *http_parts_take(struct http_parts *p);

/* All of them to the end of another queue. */
void http_parts_move(struct http_parts *from, struct http_parts *to);
void http_parts_drop(struct http_parts *p);
