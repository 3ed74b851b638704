/* From JSON text to values.
 *
 * The host sends JSON that it has parsed itself, so nothing lenient is needed: RFC 8259 to the letter, no deeper than
 * MOST_DEPTH, text in UTF-8 without halves of surrogate pairs. Numbers keep how they were written, so none loses
 * digits.
 */
#include <stdlib.h>

#include "internal.h"

#define MOST_DEPTH 64

typedef struct reader {
    const char *start, *at, *end;
    const char *fault;
    unsigned depth;
} reader;

static pp_json *read_value(reader *in);

static pp_json *fail(reader *in, const char *fault)
{
    if (!in->fault) {
        in->fault = fault;
    }
    return NULL;
}

static void skip_space(reader *in)
{
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')) {
        in->at++;
    }
}

static bool take(reader *in, char wanted)
{
    skip_space(in);
    bool found = in->at < in->end && *in->at == wanted;
    in->at += found;
    return found;
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The four digits after \u. */
static bool read_unit(reader *in, unsigned *unit)
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

static bool read_code_point(reader *in, unsigned *point)
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
static bool read_escape(reader *in, char *out, size_t *length)
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
static const char *read_text(reader *in, size_t *length)
{
    const char *close = in->at;
    while (close < in->end && *close != '"') {
        close += *close == '\\' && close + 1 < in->end ? 2 : 1;
    }
    char *out = pp_alloc((size_t)(close - in->at) + 1);
    *length = 0;
    while (in->at < in->end && *in->at != '"') {
        if ((unsigned char)*in->at < 0x20) {
            fail(in, "a control character must be escaped");
            return NULL;
        }
        if (*in->at != '\\') {
            out[(*length)++] = *in->at++;
        } else if (in->at++, !read_escape(in, out, length)) {
            fail(in, "this is no escape");
            return NULL;
        }
    }
    if (in->at == in->end) {
        fail(in, "the text does not end");
        return NULL;
    }
    in->at++;
    return out;
}

static size_t digits(reader *in)
{
    const char *from = in->at;
    while (in->at < in->end && *in->at >= '0' && *in->at <= '9') {
        in->at++;
    }
    return (size_t)(in->at - from);
}

static pp_json *read_number(reader *in)
{
    const char *from = in->at;
    in->at += *in->at == '-';
    const char *whole = in->at;
    size_t count = digits(in);
    bool good = count == 1 || (count > 1 && *whole != '0');
    if (good && in->at < in->end && *in->at == '.') {
        in->at++;
        good = digits(in) > 0;
    }
    if (good && in->at < in->end && (*in->at | 0x20) == 'e') {
        in->at++;
        in->at += in->at < in->end && (*in->at == '+' || *in->at == '-');
        good = digits(in) > 0;
    }
    if (!good) {
        return fail(in, "this is no value");
    }
    pp_json *value = ppi_json_new(PP_JSON_NUMBER);
    value->length = (size_t)(in->at - from);
    value->text = pp_copy(from, value->length);
    return value;
}

static pp_json *read_word(reader *in)
{
    static const char *const words[] = {"null", "true", "false"};
    for (size_t at = 0; at < PP_COUNT(words); at++) {
        size_t length = strlen(words[at]);
        if ((size_t)(in->end - in->at) >= length && memcmp(in->at, words[at], length) == 0) {
            in->at += length;
            pp_json *value = ppi_json_new(at == 0 ? PP_JSON_NULL : PP_JSON_BOOL);
            value->truth = at == 1;
            return value;
        }
    }
    return read_number(in);
}

static pp_json *read_member(reader *in, bool keyed)
{
    const char *key = NULL;
    size_t length = 0;
    if (keyed) {
        if (!take(in, '"')) {
            return fail(in, "a key in quotes is missing");
        }
        key = read_text(in, &length);
        if (!key || !take(in, ':')) {
            return fail(in, "a colon is missing");
        }
    }
    pp_json *value = read_value(in);
    if (value) {
        value->key = key;
        value->key_length = length;
    }
    return value;
}

static pp_json *read_list(reader *in, bool keyed)
{
    char close = keyed ? '}' : ']';
    pp_json *list = ppi_json_new(keyed ? PP_JSON_OBJECT : PP_JSON_ARRAY);
    if (take(in, close)) {
        return list;
    }
    if (++in->depth > MOST_DEPTH) {
        return fail(in, "this is nested too deeply");
    }
    do {
        pp_json *value = read_member(in, keyed);
        if (!value) {
            return NULL;
        }
        ppi_json_add(list, value);
    } while (take(in, ','));
    in->depth--;
    return take(in, close) ? list : fail(in, "a comma or the end of the list is missing");
}

static pp_json *read_value(reader *in)
{
    skip_space(in);
    const char *from = in->at;
    pp_json *value;
    if (in->at == in->end) {
        return fail(in, "a value is missing");
    }
    if (*in->at == '{' || *in->at == '[') {
        bool keyed = *in->at++ == '{';
        value = read_list(in, keyed);
    } else if (take(in, '"')) {
        size_t length;
        const char *text = read_text(in, &length);
        value = text ? ppi_json_of_text(text, length) : NULL;
    } else {
        value = read_word(in);
    }
    if (value) {
        value->source = from;
        value->source_length = (size_t)(in->at - from);
    }
    return value;
}

const pp_json *pp_json_parse(const char *text, size_t length, const char **why)
{
    size_t mended = length;
    const char *kept = pp_copy(text, length);
    reader in = {kept, kept, kept + length, NULL, 0};
    pp_json *value = ppi_utf8(kept, &mended) == kept ? read_value(&in) : fail(&in, "this is not UTF-8");
    skip_space(&in);
    if (value && in.at < in.end) {
        value = fail(&in, "nothing may follow the value");
    }
    if (!value && why) {
        *why = pp_format("%s (at byte %zu)", in.fault, (size_t)(in.at - in.start));
    }
    return value;
}
