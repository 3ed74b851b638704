/* From values to JSON text.
 *
 * A document knows what is open in it, so commas, keys and ends cannot be wrong; a key too many or too few is a mistake
 * in the plugin, and ends the call with a message. How deep it gets may depend on data: what is nested too deeply is
 * left out, and the document knows that too.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

struct pp_doc {
    char *text;
    size_t length, room;
    /* how each open list ends */
    char ends[PPI_MOST_DEPTH];
    unsigned open;
    /* lists that are open beyond those, in which nothing is written */
    size_t beyond;
    bool begun, cut;
};

void ppi_put_bytes(pp_doc *doc, const char *bytes, size_t length)
{
    if (doc->beyond > 0) {
        return;
    }
    if (length > (SIZE_MAX >> 2) - doc->length) {
        ppi_stop("out of memory: a document would be larger than %zu bytes", (size_t)(SIZE_MAX >> 2));
    }
    if (doc->room - doc->length <= length) {
        size_t room = (doc->length + length) * 2 + 128;
        char *larger = pp_alloc(room);
        if (doc->length > 0) {
            memcpy(larger, doc->text, doc->length);
        }
        doc->text = larger;
        doc->room = room;
    }
    memcpy(doc->text + doc->length, bytes, length);
    doc->length += length;
    doc->text[doc->length] = '\0';
}

void ppi_put_quoted(pp_doc *doc, const char *text, size_t length)
{
    static const char letters[] = "\"\\\b\f\n\r\t", escapes[] = "\"\\bfnrt";
    const char *sound = ppi_utf8(text, &length);
    ppi_put_bytes(doc, "\"", 1);
    for (size_t at = 0, from = 0; at <= length; at++) {
        const char *special = at < length && sound[at] ? strchr(letters, sound[at]) : NULL;
        if (at < length && !special && (unsigned char)sound[at] >= 0x20) {
            continue;
        }
        ppi_put_bytes(doc, sound + from, at - from);
        from = at + 1;
        if (at < length) {
            char escape[7] = {'\\', special ? escapes[special - letters] : 'u', 0};
            if (!special) {
                snprintf(escape + 2, 5, "%04x", (unsigned)(unsigned char)sound[at]);
            }
            ppi_put_bytes(doc, escape, strlen(escape));
        }
    }
    ppi_put_bytes(doc, "\"", 1);
}

/* The comma and the key that stand before a value. */
static void put_lead(pp_doc *doc, const char *key)
{
    if (doc->beyond > 0) {
        return;
    }
    if (doc->open == 0) {
        ppi_stop("a document that has ended cannot take %s", key ? key : "another value");
    }
    bool keyed = doc->ends[doc->open - 1] == '}';
    if (keyed != (key != NULL)) {
        ppi_stop(keyed ? "a member of an object needs a key" : "items of an array have no keys, such as \"%s\"", key);
    }
    if (doc->begun) {
        ppi_put_bytes(doc, ",", 1);
    }
    doc->begun = true;
    if (key) {
        ppi_put_quoted(doc, key, strlen(key));
        ppi_put_bytes(doc, ":", 1);
    }
}

static void open_list(pp_doc *doc, char begin, char end)
{
    if (doc->open == PPI_MOST_DEPTH) {
        ppi_put_bytes(doc, "null", 4);
        doc->beyond++;
        doc->cut = true;
        return;
    }
    ppi_put_bytes(doc, &begin, 1);
    doc->ends[doc->open++] = end;
    doc->begun = false;
}

static pp_doc *begin_doc(char begin, char end)
{
    pp_doc *doc = pp_alloc(sizeof(pp_doc));
    open_list(doc, begin, end);
    return doc;
}

pp_doc *pp_object(void)
{
    return begin_doc('{', '}');
}

pp_doc *pp_array(void)
{
    return begin_doc('[', ']');
}

void pp_open_object(pp_doc *doc, const char *key)
{
    put_lead(doc, key);
    open_list(doc, '{', '}');
}

void pp_open_array(pp_doc *doc, const char *key)
{
    put_lead(doc, key);
    open_list(doc, '[', ']');
}

void pp_close(pp_doc *doc)
{
    if (doc->beyond > 0) {
        doc->beyond--;
    } else if (doc->open > 0) {
        ppi_put_bytes(doc, &doc->ends[--doc->open], 1);
        doc->begun = true;
    }
}

const char *pp_doc_text(pp_doc *doc)
{
    while (doc->open > 0) {
        pp_close(doc);
    }
    return doc->text;
}

bool ppi_doc_is_cut(const pp_doc *doc)
{
    return doc->cut;
}

void pp_put_json(pp_doc *doc, const char *key, const char *json)
{
    put_lead(doc, key);
    ppi_put_bytes(doc, json, strlen(json));
}

void pp_put_text(pp_doc *doc, const char *key, const char *text)
{
    if (!text) {
        pp_put_null(doc, key);
        return;
    }
    put_lead(doc, key);
    ppi_put_quoted(doc, text, strlen(text));
}

void pp_put_integer(pp_doc *doc, const char *key, int64_t integer)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)integer);
    pp_put_json(doc, key, text);
}

void pp_put_number(pp_doc *doc, const char *key, double number)
{
    char text[32] = "null";
    if (isfinite(number)) {
        /* The shortest that reads back as the same number. */
        for (int precision = 15; precision <= 17; precision++) {
            snprintf(text, sizeof text, "%.*g", precision, number);
            if (strtod(text, NULL) == number) {
                break;
            }
        }
    }
    pp_put_json(doc, key, text);
}

void pp_put_bool(pp_doc *doc, const char *key, bool value)
{
    pp_put_json(doc, key, value ? "true" : "false");
}

void pp_put_null(pp_doc *doc, const char *key)
{
    pp_put_json(doc, key, "null");
}
