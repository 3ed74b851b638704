/* JSON values, and how to read them.
 *
 * A missing value is NULL everywhere, and every reader returns nothing for NULL.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

pp_json *ppi_json_new(pp_json_kind kind)
{
    pp_json *value = pp_alloc(sizeof(pp_json));
    value->kind = kind;
    return value;
}

pp_json *ppi_json_of_text(const char *text, size_t length)
{
    pp_json *value = ppi_json_new(PP_JSON_TEXT);
    value->text = text;
    value->length = length;
    return value;
}

void ppi_json_add(pp_json *parent, pp_json *child)
{
    if (parent->last) {
        parent->last->next = child;
    } else {
        parent->first = child;
    }
    parent->last = child;
    parent->count++;
}

pp_json_kind pp_json_kind_of(const pp_json *value)
{
    return value ? value->kind : PP_JSON_NOTHING;
}

size_t pp_json_count(const pp_json *value)
{
    return value ? value->count : 0;
}

const pp_json *pp_json_next(const pp_json *value)
{
    return value ? value->next : NULL;
}

const pp_json *pp_json_at(const pp_json *value, size_t index)
{
    const pp_json *found = value ? value->first : NULL;
    while (found && index-- > 0) {
        found = found->next;
    }
    return found;
}

const char *pp_json_key(const pp_json *member)
{
    return member ? member->key : NULL;
}

/* The last one of that name, as in most readers of JSON. */
const pp_json *ppi_json_member(const pp_json *value, const char *key, size_t length)
{
    const pp_json *found = NULL;
    for (const pp_json *member = pp_json_at(value, 0); member; member = member->next) {
        if (member->key && member->key_length == length && memcmp(member->key, key, length) == 0) {
            found = member;
        }
    }
    return found;
}

const pp_json *pp_json_member(const pp_json *value, const char *key)
{
    return ppi_json_member(value, key, strlen(key));
}

const char *pp_json_text(const pp_json *value, size_t *length)
{
    if (pp_json_kind_of(value) != PP_JSON_TEXT) {
        return NULL;
    }
    if (length) {
        *length = value->length;
    }
    return value->text;
}

double pp_json_number(const pp_json *value)
{
    return pp_json_kind_of(value) == PP_JSON_NUMBER ? strtod(value->text, NULL) : 0;
}

/* How many digits the largest integer has. */
#define MOST_DIGITS 19

/* A number without fraction and exponent; NULL where it needs them, or is too large. */
static const char *written_out(const char *number, char *out)
{
    char *to = out;
    if (*number == '-') {
        *to++ = *number++;
    }
    const char *first = to, *exponent_at = strpbrk(number, "eE");
    errno = 0;
    long exponent = exponent_at ? strtol(exponent_at + 1, NULL, 10) : 0;
    if (errno != 0 || exponent > 1L << 20 || exponent < -(1L << 20)) {
        exponent = exponent < 0 ? -(1L << 20) : 1L << 20;
    }
    const char *end = exponent_at ? exponent_at : number + strlen(number);
    /* the digits before the point, once the point is where the exponent puts it */
    long before = exponent + (long)strcspn(number, ".eE");
    bool some = false;
    for (; number < end; number++) {
        if (*number == '.') {
            continue;
        }
        some |= *number != '0';
        if (before-- > 0) {
            if (some && to - first == MOST_DIGITS) {
                return NULL;
            }
            *to = *number;
            to += some;
        } else if (*number != '0') {
            return NULL;
        }
    }
    for (; some && before > 0; before--) {
        if (to - first == MOST_DIGITS) {
            return NULL;
        }
        *to++ = '0';
    }
    if (to == first) {
        *to++ = '0';
    }
    *to = '\0';
    return out;
}

bool pp_json_integer(const pp_json *value, int64_t *integer)
{
    if (pp_json_kind_of(value) != PP_JSON_NUMBER) {
        return false;
    }
    /* 1.0 and 1e3 are whole numbers for JSON Schema. A double would stand for a neighbour of large ones. */
    char written[MOST_DIGITS + 2];
    const char *digits = strpbrk(value->text, ".eE") ? written_out(value->text, written) : value->text;
    if (!digits) {
        return false;
    }
    errno = 0;
    *integer = strtoll(digits, NULL, 10);
    return errno == 0;
}

bool pp_json_is_true(const pp_json *value)
{
    return pp_json_kind_of(value) == PP_JSON_BOOL && value->truth;
}

const char *pp_json_source(const pp_json *value)
{
    return value && value->source ? pp_copy(value->source, value->source_length) : NULL;
}
