/* Templates of URIs: `{word}` is a segment or a part of one, whatever has no `/`, percent-decoded.
 *
 * Each word is as long as it can be, so that what follows it may stand in it too. Looking for its end goes backwards,
 * and all words of a URI share a number of attempts.
 */
#include "internal.h"

#define ATTEMPTS 1000

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

/* Where a word lies in the URI. Its name ends with a brace. */
typedef struct {
    const char *name, *text;
    size_t size;
} word;

/* A word ends where the template can go on, and not inside of %41 or of a letter. */
static bool may_end(const char *text, size_t size, char after)
{
    const char *next = text + size;
    bool inside = next[-1] == '%' || (size > 1 && next[-2] == '%');
    bool within = (*next & 0xC0) == 0x80 || (*next == '%' && next[1] && strchr("89abAB", next[1]));
    return !within && !(inside && *next) && (after == '{' || after == *next);
}

static bool match(const char *uri_template, const char *uri, word *words, unsigned *attempts)
{
    while (*uri_template && *uri_template != '{') {
        if (*uri_template++ != *uri++) {
            return false;
        }
    }
    if (!*uri_template) {
        return !*uri;
    }
    const char *name = uri_template + 1, *after = name + strcspn(name, "}");
    after += *after == '}';
    for (size_t size = strcspn(uri, "/"); size > 0 && *attempts > 0; size--) {
        if (!may_end(uri, size, *after)) {
            continue;
        }
        --*attempts;
        if (match(after, uri + size, words + 1, attempts)) {
            *words = (word){name, uri, size};
            return true;
        }
    }
    return false;
}

/* As many as match() fills; a brace in a name begins none. */
static size_t word_count(const char *uri_template)
{
    size_t count = 0;
    while ((uri_template = strchr(uri_template, '{'))) {
        count++;
        uri_template += strcspn(uri_template, "}");
    }
    return count;
}

const pp_json *ppi_match(const char *uri_template, const char *uri)
{
    pp_json *values = ppi_json_new(PP_JSON_OBJECT);
    size_t count = word_count(uri_template);
    word *words = pp_alloc((count + 1) * sizeof(word));
    unsigned attempts = ATTEMPTS;
    if (!match(uri_template, uri, words, &attempts)) {
        return NULL;
    }
    for (size_t at = 0; at < count; at++) {
        if (!take_word(words[at].name, strcspn(words[at].name, "}"), words[at].text, words[at].size, values)) {
            return NULL;
        }
    }
    return values;
}
