/* part.c - pieces of a stream's body, and queues of them. */
#include "http/part.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct http_part *http_part_new(char *data_take, size_t len)
{
    struct http_part *part = NEW(struct http_part);

    part->data = data_take;
    part->len = len;
    return part;
}

struct http_part *http_part_of(struct buf *bytes)
{
    struct http_part *part = http_part_new(bytes->data, bytes->len);
    size_t max = bytes->max;

    part->in_body = true;
    buf_init(bytes, max);
    return part;
}

void http_part_free(struct http_part *part)
{
    free(part->data);
    free(part);
}

void http_part_frame(struct http_part *part)
{
    int n = snprintf(part->line, sizeof(part->line), "%zx\r\n", part->len);

    assert(part->line_len == 0 && part->len > 0); /* once; no bytes would end the stream */
    part->line_len = (size_t)n;
    part->data = mem_resize(part->data, part->len + 2);
    memcpy(part->data + part->len, "\r\n", 2);
    part->len += 2;
}

void http_parts_init(struct http_parts *p)
{
    p->first = NULL;
    p->last = &p->first;
}

void http_parts_add(struct http_parts *p, struct http_part *part)
{
    part->next = NULL;
    *p->last = part;
    p->last = &part->next;
}

struct http_part *http_parts_take(struct http_parts *p)
{
    struct http_part *part = p->first;

    if (part != NULL) {
        p->first = part->next;
        if (p->first == NULL)
            p->last = &p->first;
    }
    return part;
}

void http_parts_move(struct http_parts *from, struct http_parts *to)
{
    if (from->first == NULL)
        return;
    *to->last = from->first;
    to->last = from->last;
    http_parts_init(from);
}

void http_parts_drop(struct http_parts *p)
{
    struct http_part *part;

    while ((part = http_parts_take(p)) != NULL)
        http_part_free(part);
}
