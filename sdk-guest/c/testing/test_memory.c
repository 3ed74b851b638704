/* Memory of tests: all that was ever made stays until the end, so that a test may compare what several calls returned.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

typedef struct kept {
    struct kept *older;
    max_align_t memory[];
} kept;

static kept *newest;

static void *must(void *memory)
{
    if (!memory) {
        fputs("out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *ppt_keep(size_t size)
{
    kept *fresh = must(calloc(1, sizeof(kept) + size));
    fresh->older = newest;
    newest = fresh;
    return fresh->memory;
}

void ppt_forget(void)
{
    while (newest) {
        kept *older = newest->older;
        free(newest);
        newest = older;
    }
}

/* In the place of the SDK's own: results live on. */
void *ppi_host_alloc(size_t count, size_t size);

void *ppi_host_alloc(size_t count, size_t size)
{
    return count > 0 ? ppt_keep(count * size) : NULL;
}

char *ppt_format(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int length = vsnprintf(NULL, 0, format, values);
    va_end(values);
    char *text = ppt_keep((size_t)length + 1);
    va_start(values, format);
    vsnprintf(text, (size_t)length + 1, format, values);
    va_end(values);
    return text;
}

char *ppt_text(plugin_string_t text)
{
    char *copy = ppt_keep(text.len + 1);
    if (text.len > 0) {
        memcpy(copy, text.ptr, text.len);
    }
    return copy;
}

plugin_list_u8_t ppt_give_bytes(const void *data, size_t size)
{
    plugin_list_u8_t given = {NULL, size};
    if (size > 0) {
        given.ptr = must(malloc(size));
        memcpy(given.ptr, data, size);
    }
    return given;
}

plugin_string_t ppt_give(const char *text)
{
    plugin_list_u8_t bytes = ppt_give_bytes(text, strlen(text));
    plugin_string_t given = {bytes.ptr, bytes.len};
    return given;
}
