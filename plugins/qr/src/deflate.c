/* A small compressor, which knows one thing about its input: a row mostly repeats the one above.
 *
 * That is all that a QR code needs, whose modules are many pixels high, and spares the plugin a library.
 */
#include "deflate.h"

typedef struct writer {
    bytes out;
    uint32_t held;
    unsigned count;
} writer;

/* The lowest bit first. */
static void put_bits(writer *to, uint32_t bits, unsigned count)
{
    to->held |= bits << to->count;
    to->count += count;
    while (to->count >= 8) {
        add_byte(&to->out, (uint8_t)to->held);
        to->held >>= 8;
        to->count -= 8;
    }
}

/* Huffman codes stand with the highest bit first. */
static void put_code(writer *to, uint32_t code, unsigned count)
{
    uint32_t turned = 0;
    for (unsigned bit = 0; bit < count; bit++) {
        turned |= (code >> bit & 1) << (count - 1 - bit);
    }
    put_bits(to, turned, count);
}

/* The fixed code of a literal, of the end (256) or of a length. */
static void put_symbol(writer *to, unsigned symbol)
{
    if (symbol < 144) {
        put_code(to, 0x30 + symbol, 8);
    } else if (symbol < 256) {
        put_code(to, 0x190 + symbol - 144, 9);
    } else if (symbol < 280) {
        put_code(to, symbol - 256, 7);
    } else {
        put_code(to, 0xC0 + symbol - 280, 8);
    }
}

/* Codes for distances come in pairs that share a number of further bits. */
static void put_distance(writer *to, unsigned distance)
{
    unsigned extra = 0, rest = distance - 1;
    while (rest >> extra >= 4) {
        extra++;
    }
    put_code(to, 2 * extra + (rest >> extra), 5);
    put_bits(to, rest & ((1u << extra) - 1), extra);
}

/* Lengths come in fours, likewise; 258 has a code of its own. */
static void put_length(writer *to, unsigned length)
{
    unsigned extra = 0, rest = length - 3;
    if (length == 258) {
        put_symbol(to, 285);
        return;
    }
    while (rest >> extra >= 8) {
        extra++;
    }
    put_symbol(to, 257 + 4 * extra + (rest >> extra));
    put_bits(to, rest & ((1u << extra) - 1), extra);
}

/* How many bytes from `at` repeat those a row before. */
static unsigned repeated(const bytes *rows, size_t at, size_t stride)
{
    unsigned length = 0;
    if (at < stride) {
        return 0;
    }
    while (length < 258 && at + length < rows->size && rows->data[at + length] == rows->data[at + length - stride]) {
        length++;
    }
    return length;
}

static uint32_t adler32(const bytes *data)
{
    uint32_t low = 1, high = 0;
    for (size_t at = 0; at < data->size; at++) {
        low = (low + data->data[at]) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

bytes compress_rows(const bytes *rows, size_t stride)
{
    writer to = {0};
    add_byte(&to.out, 0x78);
    add_byte(&to.out, 0x01);
    put_bits(&to, 3, 3); /* the last block, fixed codes */
    for (size_t at = 0; at < rows->size;) {
        unsigned length = repeated(rows, at, stride);
        if (length < 3) {
            put_symbol(&to, rows->data[at++]);
            continue;
        }
        put_length(&to, length);
        put_distance(&to, (unsigned)stride);
        at += length;
    }
    put_symbol(&to, 256);
    put_bits(&to, 0, 7);
    add_number(&to.out, adler32(rows));
    return to.out;
}
