/* crc32c.c - eight bytes at a time, by an instruction of x86-64 or by eight tables. */
#include "base/digest.h"

enum { SLICES = 8 };

static const uint32_t polynomial = 0x82f63b78; /* of bits in reverse order */
static uint32_t tables[SLICES][256];

/* Before main(), so that no caller has to wait for it. tables[k][b] is the checksum of byte b and
 * k zeroes after it. */
__attribute__((constructor)) static void fill_tables(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;

        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? polynomial : 0);
        tables[0][b] = crc;
    }
    for (size_t k = 1; k < SLICES; k++)
        for (size_t b = 0; b < 256; b++)
            tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 255];
}

uint32_t crc32c_by_tables(uint32_t crc, const void *data, size_t len)
{
    const unsigned char *p = data;

    crc = ~crc;
    for (; len >= SLICES; len -= SLICES, p += SLICES) {
        uint32_t sum = 0;

        crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        for (size_t i = 0; i < 4; i++) {
            sum ^= tables[SLICES - 1 - i][crc >> (8 * i) & 255];
            sum ^= tables[3 - i][p[4 + i]];
        }
        crc = sum;
    }
    for (; len > 0; len--, p++)
        crc = (crc >> 8) ^ tables[0][(crc ^ *p) & 255];
    return ~crc;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const void *data,
                                                                 size_t len)
{
    const unsigned char *p = data;
    uint64_t sum = ~crc;

    for (; len >= sizeof(uint64_t); len -= sizeof(uint64_t), p += sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, p, sizeof(word));
        sum = __builtin_ia32_crc32di(sum, word);
    }
    for (; len > 0; len--, p++)
        sum = __builtin_ia32_crc32qi((uint32_t)sum, *p);
    return ~(uint32_t)sum;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
    if (len == 0)
        return crc;
    return __builtin_cpu_supports("sse4.2") ? by_instruction(crc, data, len)
                                            : crc32c_by_tables(crc, data, len);
}

#else

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
    return crc32c_by_tables(crc, data, len);
}

#endif
