/* All keys of the store, which come in pages. */
#include <stdlib.h>

#include "kv.h"

/* Room for the keys so far and those of one more page: each page at least doubles it. */
static const char **with_room(const char **items, size_t count, size_t more, size_t *room)
{
    if (*room >= more && *room - more >= count) {
        return items;
    }
    *room = 2 * (count + more);
    const char **larger = pp_alloc(*room * sizeof *larger);
    if (count > 0) {
        memcpy(larger, items, count * sizeof *larger);
    }
    return larger;
}

static const char **take_page(const char **items, size_t *count, size_t *room, plugin_list_string_t *keys)
{
    items = with_room(items, *count, keys->len, room);
    for (size_t at = 0; at < keys->len; at++) {
        items[(*count)++] = ppi_lift(&keys->ptr[at]);
    }
    if (keys->len > 0) {
        free(keys->ptr);
    }
    return items;
}

pp_kv_list pp_kv_keys(void)
{
    pp_kv_list list = {NULL, 0, NULL};
    wasi_keyvalue_store_borrow_bucket_t bucket;
    wasi_keyvalue_store_key_response_t page;
    wasi_keyvalue_store_error_t error;
    plugin_string_t cursor = {NULL, 0};
    const char **items = NULL;
    size_t room = 0;
    list.failure = ppi_kv_open(&bucket);
    for (bool more = !list.failure, first = true; more; first = false) {
        if (!wasi_keyvalue_store_method_bucket_list_keys(bucket, first ? NULL : &cursor, &page, &error)) {
            list.failure = ppi_kv_failure(&error);
            list.count = 0;
            return list;
        }
        items = take_page(items, &list.count, &room, &page.keys);
        more = page.cursor.is_some;
        cursor = ppi_lend(more ? ppi_lift(&page.cursor.val) : "");
    }
    list.items = items;
    return list;
}
