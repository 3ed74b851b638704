#include "bytes.h"

#include <string.h>

#include <plugport.h>

void add_bytes(bytes *to, const void *data, size_t size)
{
    if (to->room - to->size < size) {
        size_t room = (to->size + size) * 2 + 256;
        uint8_t *larger = pp_alloc(room);
        if (to->size > 0) {
            memcpy(larger, to->data, to->size);
        }
        to->data = larger;
        to->room = room;
    }
    if (size > 0) {
        memcpy(to->data + to->size, data, size);
    }
    to->size += size;
}

void add_byte(bytes *to, uint8_t byte)
{
    add_bytes(to, &byte, 1);
}

void add_text(bytes *to, const char *text)
{
    add_bytes(to, text, strlen(text));
}

void add_number(bytes *to, uint32_t number)
{
    uint8_t digits[4] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number};
    add_bytes(to, digits, sizeof digits);
}
