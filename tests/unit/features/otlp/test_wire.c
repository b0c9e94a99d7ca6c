/* test_wire.c - the wire format of protocol buffers. */
#include "features/otlp/wire.h"

#include "test.h"

static struct str literal(const char *bytes, size_t n)
{
    return str_from(bytes, n);
}

#define BYTES(text) literal(text, sizeof(text) - 1)

TEST(fields_of_every_type_are_read_in_order)
{
    struct wire w = wire_of(BYTES("\x08\x96\x01"
                                  "\x11\x01\x00\x00\x00\x00\x00\x00\x80"
                                  "\x1a\x02hi"
                                  "\x25\x04\x03\x02\x01"));
    struct wire_field f;

    CHECK(wire_next(&w, &f) && f.tag == WIRE_VARINT(1) && f.number == 150);
    CHECK(wire_next(&w, &f) && f.tag == WIRE_FIXED64(2));
    CHECK(f.number == UINT64_C(0x8000000000000001));
    CHECK(wire_next(&w, &f) && f.tag == WIRE_BYTES(3));
    CHECK_STR(f.bytes, "hi");
    CHECK(wire_next(&w, &f) && f.tag == WIRE_FIXED32(4) && f.number == 0x01020304);
    CHECK(!wire_next(&w, &f) && !w.malformed);
}

TEST(the_largest_varint_is_read_and_a_larger_one_refused)
{
    struct wire w = wire_of(BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    struct wire_field f;

    CHECK(wire_next(&w, &f) && f.number == UINT64_MAX);
    w = wire_of(BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"));
    CHECK(!wire_next(&w, &f) && w.malformed);
    w = wire_of(BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    CHECK(!wire_next(&w, &f) && w.malformed);
}

TEST(what_ends_too_early_or_has_no_such_type_is_malformed)
{
    const struct str bad[] = {
        BYTES("\x08"),
        BYTES("\x08\x80"),
        BYTES("\x0a\x05hi"),
        BYTES("\x09\x01\x02"),
        BYTES("\x0d\x01\x02"),
        BYTES("\x0b"),
        BYTES("\x0c"),
        BYTES("\x00\x01"),
        BYTES("\x0e\x01"),
        BYTES("\x80"),
        BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
    };

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct wire w = wire_of(bad[i]);
        struct wire_field f;

        CHECK(!wire_next(&w, &f));
        CHECK(w.malformed);
        CHECK(!wire_next(&w, &f));
    }
}

TEST(what_is_written_is_read_again)
{
    struct wire_field f;
    struct buf out;
    struct wire w;

    buf_init(&out, KIB(1));
    wire_add_number(&out, 1, UINT64_MAX);
    wire_add_number(&out, 2, 0);
    wire_add_bytes(&out, 3, STR_LIT("text"));
    wire_add_bytes(&out, 4, STR_LIT(""));
    w = wire_of(buf_str(&out));
    CHECK(wire_next(&w, &f) && f.tag == WIRE_VARINT(1) && f.number == UINT64_MAX);
    CHECK(wire_next(&w, &f) && f.tag == WIRE_BYTES(3));
    CHECK_STR(f.bytes, "text");
    CHECK(!wire_next(&w, &f) && !w.malformed);
    buf_done(&out);
}
