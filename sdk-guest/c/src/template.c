/* Templates of URIs: `{word}` is a segment, whatever has no `/`, percent-decoded. */
#include "internal.h"

bool ppi_is_template(const char *uri)
{
    return strchr(uri, '{') != NULL;
}

static int hex(char digit)
{
    const char *digits = "0123456789abcdef";
    const char *found = digit ? strchr(digits, digit >= 'A' && digit <= 'F' ? digit | 0x20 : digit) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* The decoded text, or NULL for what is no text. */
static const char *decode(const char *text, size_t length, size_t *decoded)
{
    char *out = pp_alloc(length + 1);
    *decoded = 0;
    for (size_t at = 0; at < length; at++) {
        if (text[at] != '%') {
            out[(*decoded)++] = text[at];
            continue;
        }
        int high = length - at > 2 ? hex(text[at + 1]) : -1, low = high < 0 ? -1 : hex(text[at + 2]);
        if (low < 0 || (high | low) == 0) {
            return NULL;
        }
        out[(*decoded)++] = (char)(high << 4 | low);
        at += 2;
    }
    size_t sound = *decoded;
    return ppi_utf8(out, &sound) == out ? out : NULL;
}

static bool take_word(const char *name, size_t length, const char *text, size_t size, pp_json *words)
{
    size_t decoded;
    const char *word = size > 0 ? decode(text, size, &decoded) : NULL;
    if (!word) {
        return false;
    }
    pp_json *value = ppi_json_of_text(word, decoded);
    value->key = pp_copy(name, length);
    value->key_length = length;
    ppi_json_add(words, value);
    return true;
}

const pp_json *ppi_match(const char *uri_template, const char *uri)
{
    pp_json *words = ppi_json_new(PP_JSON_OBJECT);
    while (*uri_template) {
        if (*uri_template != '{') {
            if (*uri_template++ != *uri++) {
                return NULL;
            }
            continue;
        }
        size_t name = strcspn(++uri_template, "}");
        const char *after = uri_template + name + (uri_template[name] == '}');
        /* A word ends at a slash, or where the template goes on. */
        const char ends[] = {'/', *after == '{' ? '\0' : *after, '\0'};
        size_t size = strcspn(uri, ends);
        if (!take_word(uri_template, name, uri, size, words)) {
            return NULL;
        }
        uri += size;
        uri_template = after;
    }
    return *uri ? NULL : words;
}
