/* From JSON text to values.
 *
 * The host sends JSON that it has parsed itself, so nothing lenient is needed: RFC 8259 to the letter, no deeper than
 * PPI_MOST_DEPTH, text in UTF-8 without halves of surrogate pairs. Numbers keep how they were written, so none loses
 * digits.
 */
#include "json_reader.h"

static pp_json *read_value(ppi_reader *in);

static pp_json *fail(ppi_reader *in, const char *fault)
{
    if (!in->fault) {
        in->fault = fault;
    }
    return NULL;
}

static void skip_space(ppi_reader *in)
{
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r')) {
        in->at++;
    }
}

static bool take(ppi_reader *in, char wanted)
{
    skip_space(in);
    bool found = in->at < in->end && *in->at == wanted;
    in->at += found;
    return found;
}

static size_t digits(ppi_reader *in)
{
    const char *from = in->at;
    while (in->at < in->end && *in->at >= '0' && *in->at <= '9') {
        in->at++;
    }
    return (size_t)(in->at - from);
}

static pp_json *read_number(ppi_reader *in)
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

static pp_json *read_word(ppi_reader *in)
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

static pp_json *read_member(ppi_reader *in, bool keyed)
{
    const char *key = NULL;
    size_t length = 0;
    if (keyed) {
        if (!take(in, '"')) {
            return fail(in, "a key in quotes is missing");
        }
        key = ppi_read_text(in, &length);
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

static pp_json *read_list(ppi_reader *in, bool keyed)
{
    char close = keyed ? '}' : ']';
    pp_json *list = ppi_json_new(keyed ? PP_JSON_OBJECT : PP_JSON_ARRAY);
    if (take(in, close)) {
        return list;
    }
    if (++in->depth > PPI_MOST_DEPTH) {
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

static pp_json *read_value(ppi_reader *in)
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
        const char *text = ppi_read_text(in, &length);
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
    ppi_reader in = {kept, kept, kept + length, NULL, 0};
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
