/* Text within JSON: escapes, and halves of surrogate pairs that belong together. */
#include "json_reader.h"

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The four digits after \u. */
static bool read_unit(ppi_reader *in, unsigned *unit)
{
    if (in->end - in->at < 4) {
        return false;
    }
    *unit = 0;
    for (int digit = 0; digit < 4; digit++) {
        int value = hex_digit(*in->at++);
        if (value < 0) {
            return false;
        }
        *unit = *unit << 4 | (unsigned)value;
    }
    return true;
}

static bool read_code_point(ppi_reader *in, unsigned *point)
{
    unsigned low;
    if (!read_unit(in, point) || (*point >= 0xDC00 && *point < 0xE000)) {
        return false;
    }
    if (*point < 0xD800 || *point >= 0xE000) {
        return true;
    }
    if (in->end - in->at < 2 || in->at[0] != '\\' || in->at[1] != 'u') {
        return false;
    }
    in->at += 2;
    if (!read_unit(in, &low) || low < 0xDC00 || low >= 0xE000) {
        return false;
    }
    *point = 0x10000 + ((*point - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

static size_t encode(unsigned point, char *out)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t at = length - 1; at > 0; at--) {
        out[at] = (char)(0x80 | (point & 0x3F));
        point >>= 6;
    }
    out[0] = (char)((length == 2 ? 0xC0 : length == 3 ? 0xE0 : 0xF0) | point);
    return length;
}

/* Adds what stands after a backslash. */
static bool read_escape(ppi_reader *in, char *out, size_t *length)
{
    static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    unsigned point;
    char letter = in->at < in->end ? *in->at++ : '\0';
    const char *found = letter ? strchr(plain, letter) : NULL;
    if (found) {
        out[(*length)++] = meant[found - plain];
        return true;
    }
    if (letter != 'u' || !read_code_point(in, &point)) {
        return false;
    }
    *length += encode(point, out + *length);
    return true;
}

/* What is between quotes, decoded. It is never longer than what stands there. */
const char *ppi_read_text(ppi_reader *in, size_t *length)
{
    const char *close = in->at;
    while (close < in->end && *close != '"') {
        close += *close == '\\' && close + 1 < in->end ? 2 : 1;
    }
    char *out = pp_alloc((size_t)(close - in->at) + 1);
    *length = 0;
    while (in->at < in->end && *in->at != '"') {
        if ((unsigned char)*in->at < 0x20) {
            in->fault = "a control character must be escaped";
            return NULL;
        }
        if (*in->at != '\\') {
            out[(*length)++] = *in->at++;
        } else if (in->at++, !read_escape(in, out, length)) {
            in->fault = "this is no escape";
            return NULL;
        }
    }
    if (in->at == in->end) {
        in->fault = "the text does not end";
        return NULL;
    }
    in->at++;
    return out;
}
