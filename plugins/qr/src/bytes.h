/* Bytes that grow, in the memory of the call. */
#ifndef QR_BYTES_H
#define QR_BYTES_H

#include <stddef.h>
#include <stdint.h>

typedef struct bytes {
    uint8_t *data;
    size_t size, room;
} bytes;

void add_bytes(bytes *to, const void *data, size_t size);
void add_byte(bytes *to, uint8_t byte);
void add_text(bytes *to, const char *text);
/* Big-endian, as PNG has them. */
void add_number(bytes *to, uint32_t number);

#endif
