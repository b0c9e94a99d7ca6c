/* crc32c.h - CRC-32C (Castagnoli), the checksum of stored rows.
 *
 * Every change of up to 32 bits in a row is found, and of the others all but
 * one in four thousand million. It is no protection against people, who can
 * compute it too.
 *
 * Thread-safe.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Goes on from the checksum of what came before; 0 to begin. With the processor's instruction where
 * it has one. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);

/* The same by tables: what crc32c() does on other processors. */
uint32_t crc32c_by_tables(uint32_t crc, const void *data, size_t len);
