/* PNG with one bit for each pixel. */
#include "deflate.h"
#include "draw.h"

#include <stdbool.h>

static uint32_t crc32(const uint8_t *data, size_t size)
{
    uint32_t crc = 0xFFFFFFFF;
    for (size_t at = 0; at < size; at++) {
        crc ^= data[at];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
        }
    }
    return ~crc;
}

static void add_chunk(bytes *png, const char *type, const bytes *data)
{
    add_number(png, (uint32_t)data->size);
    size_t from = png->size;
    add_text(png, type);
    add_bytes(png, data->data, data->size);
    add_number(png, crc32(png->data + from, png->size - from));
}

static bytes header(uint32_t pixels)
{
    static const uint8_t one_bit_grey[] = {1, 0, 0, 0, 0};
    bytes data = {0};
    add_number(&data, pixels);
    add_number(&data, pixels);
    add_bytes(&data, one_bit_grey, sizeof one_bit_grey);
    return data;
}

/* A row of pixels: no filter, then eight pixels in each byte, where 1 is white. */
static void add_row(bytes *rows, const drawing *drawing, int y, int pixels)
{
    add_byte(rows, 0);
    for (int x = 0; x < pixels; x += 8) {
        uint8_t eight = 0;
        for (int bit = 0; bit < 8; bit++) {
            bool white = x + bit >= pixels || !is_dark(drawing, (x + bit) / drawing->scale, y);
            eight = (uint8_t)(eight << 1 | white);
        }
        add_byte(rows, eight);
    }
}

bytes draw_png(const drawing *drawing)
{
    static const uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    int side = side_of(drawing), pixels = side * drawing->scale;
    size_t stride = (size_t)(pixels + 7) / 8 + 1;
    bytes rows = {0}, png = {0}, end = {0}, head = header((uint32_t)pixels);
    for (int y = 0; y < side; y++) {
        size_t from = rows.size;
        add_row(&rows, drawing, y, pixels);
        for (int again = 1; again < drawing->scale; again++) {
            add_bytes(&rows, rows.data + from, stride);
        }
    }
    bytes packed = compress_rows(&rows, stride);
    add_bytes(&png, signature, sizeof signature);
    add_chunk(&png, "IHDR", &head);
    add_chunk(&png, "IDAT", &packed);
    add_chunk(&png, "IEND", &end);
    return png;
}
