/* wire.h - the wire format of protocol buffers: the fields of a message, one after the other.
 *
 * A field is known by its tag, which is its number and its wire type together:
 * a known number with another type is an unknown field, to be skipped. Groups,
 * which have been deprecated for longer than OTLP exists, are malformed.
 *
 * Thread-safe: values only.
 */
#pragma once
#include "base/buf.h"
#include "base/str.h"

/* The tags of field `n`, for a switch. */
#define WIRE_VARINT(n)  ((uint64_t)(n) << 3 | 0)
#define WIRE_FIXED64(n) ((uint64_t)(n) << 3 | 1)
#define WIRE_BYTES(n)   ((uint64_t)(n) << 3 | 2)
#define WIRE_FIXED32(n) ((uint64_t)(n) << 3 | 5)

/* A message that is being read. */
struct wire {
    const char *at, *end;
    bool malformed; /* nothing after this point can be read */
};

struct wire_field {
    uint64_t tag;
    uint64_t number;  /* of a varint, or the bits of a fixed32 or fixed64 */
    struct str bytes; /* borrowed from the message */
};

static inline struct wire wire_of(struct str message)
{
    const char *data = message.data == NULL ? "" : message.data;

    return (struct wire){ data, data + message.len, false };
}

/* False at the end of the message, and at its first malformed field. */
bool wire_next(struct wire *w, struct wire_field *ret);

/* The bits of a fixed64 as the double that they are. */
double wire_real(uint64_t bits);

/* For messages that are written. Zeroes and empty strings are left out, as proto3 does. */
void wire_add_number(struct buf *out, unsigned field, uint64_t value);
void wire_add_bytes(struct buf *out, unsigned field, struct str bytes);
