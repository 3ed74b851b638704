/* UTF-8, validated as the Unicode standard says.
 *
 * C programs handle bytes. The host accepts only valid UTF-8 and ends the call otherwise, so text is repaired here.
 */
#include "internal.h"

static bool continues(const unsigned char *text, size_t from, size_t to)
{
    for (size_t at = from; at < to; at++) {
        if ((text[at] & 0xC0) != 0x80) {
            return false;
        }
    }
    return true;
}

size_t ppi_character(const unsigned char *text, size_t left)
{
    unsigned char first = text[0];
    size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (length == 0 || length > left || !continues(text, 1, length)) {
        return 0;
    }
    bool overlong = (first == 0xE0 && text[1] < 0xA0) || (first == 0xF0 && text[1] < 0x90);
    bool surrogate = first == 0xED && text[1] >= 0xA0;
    bool beyond = first == 0xF4 && text[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : length;
}

static size_t count_faults(const char *text, size_t length)
{
    size_t faults = 0;
    for (size_t at = 0; at < length;) {
        size_t step = ppi_character((const unsigned char *)text + at, length - at);
        faults += step == 0;
        at += step ? step : 1;
    }
    return faults;
}

const char *ppi_utf8(const char *text, size_t *length)
{
    size_t faults = count_faults(text, *length);
    if (faults == 0) {
        return text;
    }
    if (faults > (SIZE_MAX - *length) / 2) {
        ppi_stop("out of memory: a text of %zu bytes is not UTF-8", *length);
    }
    char *mended = pp_alloc(*length + 2 * faults + 1);
    size_t end = 0;
    for (size_t at = 0; at < *length;) {
        size_t step = ppi_character((const unsigned char *)text + at, *length - at);
        memcpy(mended + end, step ? text + at : "\xEF\xBF\xBD", step ? step : 3);
        end += step ? step : 3;
        at += step ? step : 1;
    }
    *length = end;
    return mended;
}
