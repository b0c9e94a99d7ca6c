/* wire.c - varints, tags, and what follows them. */
#include "features/otlp/wire.h"

enum { VARINT_BYTES_MAX = 10, TYPE_BITS = 3, TYPE_MASK = 7 };

static bool fail(struct wire *w)
{
    w->malformed = true;
    return false;
}

static bool take_varint(struct wire *w, uint64_t *ret)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < VARINT_BYTES_MAX && w->at < w->end; i++) {
        uint64_t byte = (unsigned char)*w->at++;

        if (i == VARINT_BYTES_MAX - 1 && byte > 1)
            return fail(w); /* beyond 64 bits */
        value |= (byte & 0x7f) << 7 * i;
        if (byte < 0x80) {
            *ret = value;
            return true;
        }
    }
    return fail(w);
}

/* `size` bytes, the least significant first. */
static bool take_fixed(struct wire *w, unsigned size, uint64_t *ret)
{
    uint64_t value = 0;

    if ((size_t)(w->end - w->at) < size)
        return fail(w);
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)(unsigned char)w->at[i] << 8 * i;
    w->at += size;
    *ret = value;
    return true;
}

static bool take_bytes(struct wire *w, struct str *ret)
{
    uint64_t len;

    if (!take_varint(w, &len))
        return false;
    if (len > (uint64_t)(w->end - w->at))
        return fail(w);
    *ret = str_from(w->at, (size_t)len);
    w->at += len;
    return true;
}

bool wire_next(struct wire *w, struct wire_field *ret)
{
    *ret = (struct wire_field){ .bytes = STR_NULL };
    if (w->malformed || w->at == w->end || !take_varint(w, &ret->tag))
        return false;
    if (ret->tag >> TYPE_BITS == 0 || ret->tag > UINT32_MAX)
        return fail(w);
    switch (ret->tag & TYPE_MASK) {
    case WIRE_VARINT(0):
        return take_varint(w, &ret->number);
    case WIRE_FIXED64(0):
        return take_fixed(w, 8, &ret->number);
    case WIRE_BYTES(0):
        return take_bytes(w, &ret->bytes);
    case WIRE_FIXED32(0):
        return take_fixed(w, 4, &ret->number);
    default:
        return fail(w);
    }
}

double wire_real(uint64_t bits)
{
    double real;

    memcpy(&real, &bits, sizeof(real));
    return real;
}

static void add_varint(struct buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_add_char(out, (char)(value | 0x80));
    buf_add_char(out, (char)value);
}

void wire_add_number(struct buf *out, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    add_varint(out, WIRE_VARINT(field));
    add_varint(out, value);
}

void wire_add_bytes(struct buf *out, unsigned field, struct str bytes)
{
    if (bytes.len == 0)
        return;
    add_varint(out, WIRE_BYTES(field));
    add_varint(out, bytes.len);
    buf_add(out, bytes);
}
