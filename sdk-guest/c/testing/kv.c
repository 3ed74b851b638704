/* The plugin's key-value store, in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "testing.h"

#define PAGE ((size_t)2)

typedef struct entry {
    struct entry *older;
    const char *key, *data;
    size_t size;
    /* is there, and not deleted */
    bool exists;
    /* how often it was written or deleted */
    unsigned version;
} entry;

/* What a compare-and-swap has seen; its handle is its position. */
typedef struct attempt {
    entry *of;
    unsigned version;
} attempt;

#define MOST_ATTEMPTS 16

static entry *newest;
static attempt attempts[MOST_ATTEMPTS];

void ppt_new_store(void)
{
    newest = NULL;
    memset(attempts, 0, sizeof attempts);
}

static bool denied(wasi_keyvalue_store_error_t *err)
{
    err->tag = WASI_KEYVALUE_STORE_ERROR_ACCESS_DENIED;
    return ppt_is_denied();
}

static bool fail(wasi_keyvalue_store_error_t *err, const char *why)
{
    err->tag = WASI_KEYVALUE_STORE_ERROR_OTHER;
    err->val.other = ppt_give(why);
    return false;
}

/* That of a key; one that was never written is made, and does not exist for the plugin. */
static entry *entry_of(plugin_string_t *key)
{
    const char *wanted = ppt_text(*key);
    for (entry *at = newest; at; at = at->older) {
        if (strcmp(at->key, wanted) == 0) {
            return at;
        }
    }
    entry *made = ppt_keep(sizeof *made);
    made->older = newest;
    made->key = wanted;
    newest = made;
    return made;
}

static void put(entry *to, const void *data, size_t size)
{
    plugin_string_t bytes = {(uint8_t *)(uintptr_t)data, size};
    to->data = ppt_text(bytes);
    to->size = size;
    to->exists = true;
    to->version++;
}

static void give(const entry *from, plugin_option_list_u8_t *ret)
{
    ret->is_some = from->exists;
    if (from->exists) {
        ret->val = ppt_give_bytes(from->data, from->size);
    }
}

bool wasi_keyvalue_store_open(plugin_string_t *identifier, wasi_keyvalue_store_own_bucket_t *ret,
                              wasi_keyvalue_store_error_t *err)
{
    (void)identifier;
    ret->__handle = 1;
    return !denied(err);
}

void wasi_keyvalue_store_bucket_drop_own(wasi_keyvalue_store_own_bucket_t handle)
{
    (void)handle;
}

wasi_keyvalue_store_borrow_bucket_t wasi_keyvalue_store_borrow_bucket(wasi_keyvalue_store_own_bucket_t handle)
{
    wasi_keyvalue_store_borrow_bucket_t borrowed = {handle.__handle};
    return borrowed;
}

bool wasi_keyvalue_store_method_bucket_get(wasi_keyvalue_store_borrow_bucket_t self, plugin_string_t *key,
                                           plugin_option_list_u8_t *ret, wasi_keyvalue_store_error_t *err)
{
    (void)self;
    if (denied(err)) {
        return false;
    }
    give(entry_of(key), ret);
    return true;
}

bool wasi_keyvalue_store_method_bucket_set(wasi_keyvalue_store_borrow_bucket_t self, plugin_string_t *key,
                                           plugin_list_u8_t *value, wasi_keyvalue_store_error_t *err)
{
    (void)self;
    if (denied(err)) {
        return false;
    }
    put(entry_of(key), value->ptr, value->len);
    return true;
}

bool wasi_keyvalue_store_method_bucket_delete(wasi_keyvalue_store_borrow_bucket_t self, plugin_string_t *key,
                                              wasi_keyvalue_store_error_t *err)
{
    (void)self;
    if (denied(err)) {
        return false;
    }
    entry *gone = entry_of(key);
    gone->exists = false;
    gone->version++;
    return true;
}

bool wasi_keyvalue_store_method_bucket_exists(wasi_keyvalue_store_borrow_bucket_t self, plugin_string_t *key, bool *ret,
                                              wasi_keyvalue_store_error_t *err)
{
    (void)self;
    *ret = entry_of(key)->exists;
    return !denied(err);
}

/* Pages are small, so that tests see several. The cursor is the number of keys so far. */
bool wasi_keyvalue_store_method_bucket_list_keys(wasi_keyvalue_store_borrow_bucket_t self,
                                                 plugin_string_t *maybe_cursor, wasi_keyvalue_store_key_response_t *ret,
                                                 wasi_keyvalue_store_error_t *err)
{
    (void)self;
    size_t skipped = 0, begin = maybe_cursor ? strtoul(ppt_text(*maybe_cursor), NULL, 10) : 0;
    if (denied(err)) {
        return false;
    }
    memset(ret, 0, sizeof *ret);
    ret->keys.ptr = calloc(PAGE, sizeof *ret->keys.ptr);
    for (entry *at = newest; at && ret->keys.ptr; at = at->older) {
        if (!at->exists || skipped++ < begin) {
            continue;
        }
        if (ret->keys.len == PAGE) {
            ret->cursor.is_some = true;
            ret->cursor.val = ppt_give(ppt_format("%zu", begin + PAGE));
            break;
        }
        ret->keys.ptr[ret->keys.len++] = ppt_give(at->key);
    }
    if (ret->keys.len == 0) {
        free(ret->keys.ptr);
    }
    return true;
}

bool wasi_keyvalue_atomics_increment(wasi_keyvalue_atomics_borrow_bucket_t bucket, plugin_string_t *key, int64_t delta,
                                     int64_t *ret, wasi_keyvalue_atomics_error_t *err)
{
    (void)bucket;
    if (denied(err)) {
        return false;
    }
    entry *found = entry_of(key);
    char *end = NULL;
    errno = 0;
    long long before = found->exists ? strtoll(found->data, &end, 10) : 0;
    bool number = !found->exists || (end == found->data + found->size && found->size > 0 && errno == 0);
    if (!number || __builtin_add_overflow(before, delta, ret)) {
        return fail(err, ppt_format("`%s` is no number, or has no room for the sum", found->key));
    }
    const char *sum = ppt_format("%lld", (long long)*ret);
    put(found, sum, strlen(sum));
    return true;
}

static wasi_keyvalue_atomics_own_cas_t begin_attempt(entry *of)
{
    int32_t at = 0;
    while (at < MOST_ATTEMPTS - 1 && attempts[at].of) {
        at++;
    }
    attempts[at].of = of;
    attempts[at].version = of->version;
    wasi_keyvalue_atomics_own_cas_t begun = {at};
    return begun;
}

bool wasi_keyvalue_atomics_static_cas_new(wasi_keyvalue_atomics_borrow_bucket_t bucket, plugin_string_t *key,
                                          wasi_keyvalue_atomics_own_cas_t *ret, wasi_keyvalue_atomics_error_t *err)
{
    (void)bucket;
    if (denied(err)) {
        return false;
    }
    *ret = begin_attempt(entry_of(key));
    return true;
}

wasi_keyvalue_atomics_borrow_cas_t wasi_keyvalue_atomics_borrow_cas(wasi_keyvalue_atomics_own_cas_t handle)
{
    wasi_keyvalue_atomics_borrow_cas_t borrowed = {handle.__handle};
    return borrowed;
}

void wasi_keyvalue_atomics_cas_drop_own(wasi_keyvalue_atomics_own_cas_t handle)
{
    attempts[handle.__handle].of = NULL;
}

bool wasi_keyvalue_atomics_method_cas_current(wasi_keyvalue_atomics_borrow_cas_t self, plugin_option_list_u8_t *ret,
                                              wasi_keyvalue_atomics_error_t *err)
{
    if (denied(err)) {
        return false;
    }
    give(attempts[self.__handle].of, ret);
    return true;
}

bool wasi_keyvalue_atomics_swap(wasi_keyvalue_atomics_own_cas_t cas, plugin_list_u8_t *value,
                                wasi_keyvalue_atomics_cas_error_t *err)
{
    attempt made = attempts[cas.__handle];
    wasi_keyvalue_atomics_cas_drop_own(cas);
    err->tag = WASI_KEYVALUE_ATOMICS_CAS_ERROR_STORE_ERROR;
    if (denied(&err->val.store_error)) {
        return false;
    }
    if (made.of->version != made.version) {
        err->tag = WASI_KEYVALUE_ATOMICS_CAS_ERROR_CAS_FAILED;
        err->val.cas_failed = begin_attempt(made.of);
        return false;
    }
    put(made.of, value->ptr, value->len);
    return true;
}
