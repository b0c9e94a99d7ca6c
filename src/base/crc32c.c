/* crc32c.c - eight bytes at a time by an instruction of x86-64, or one by a table. */
#include "base/digest.h"

static const uint32_t polynomial = 0x82f63b78; /* of bits in reverse order */
static uint32_t table[256];

/* Before main(), so that no caller has to wait for it. */
__attribute__((constructor)) static void fill_table(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;

        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (crc & 1 ? polynomial : 0);
        table[b] = crc;
    }
}

uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t len)
{
    const unsigned char *p = data;

    crc = ~crc;
    for (; len > 0; len--, p++)
        crc = (crc >> 8) ^ table[(crc ^ *p) & 255];
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
                                            : crc32c_by_table(crc, data, len);
}

#else

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
    return crc32c_by_table(crc, data, len);
}

#endif
