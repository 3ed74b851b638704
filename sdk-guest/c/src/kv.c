/* The interface `wasi:keyvalue`, for the one store that a plugin has. */
#include "kv.h"

static wasi_keyvalue_store_own_bucket_t store;
static bool is_open;

static void close_store(void *state)
{
    (void)state;
    wasi_keyvalue_store_bucket_drop_own(store);
    is_open = false;
}

const pp_failure *ppi_kv_failure(wasi_keyvalue_store_error_t *error)
{
    switch (error->tag) {
    case WASI_KEYVALUE_STORE_ERROR_ACCESS_DENIED:
        return ppi_failure(PP_FAILED_DENIED,
                           "this server does not grant `kv` to the plugin, or only for callers with credentials");
    case WASI_KEYVALUE_STORE_ERROR_NO_SUCH_STORE:
        return ppi_failure(PP_FAILED_INTERNAL, "this server has no key-value store");
    default:
        return ppi_failure(PP_FAILED_INTERNAL, "the key-value store failed: %s", ppi_lift(&error->val.other));
    }
}

const pp_failure *ppi_kv_open(wasi_keyvalue_store_borrow_bucket_t *bucket)
{
    wasi_keyvalue_store_error_t error;
    plugin_string_t name = ppi_lend("default");
    if (!is_open) {
        if (!wasi_keyvalue_store_open(&name, &store, &error)) {
            return ppi_kv_failure(&error);
        }
        is_open = true;
        ppi_at_end(close_store, NULL);
    }
    *bucket = wasi_keyvalue_store_borrow_bucket(store);
    return NULL;
}

pp_kv_value ppi_kv_value(plugin_option_list_u8_t *found)
{
    pp_kv_value value = {NULL, NULL, 0};
    if (found->is_some) {
        value.data = ppi_lift_bytes(&found->val, &value.size);
    }
    return value;
}

pp_kv_value pp_kv_get(const char *key)
{
    pp_kv_value value = {NULL, NULL, 0};
    wasi_keyvalue_store_borrow_bucket_t bucket;
    wasi_keyvalue_store_error_t error;
    plugin_option_list_u8_t found;
    plugin_string_t lent = ppi_lend(key);
    value.failure = ppi_kv_open(&bucket);
    if (value.failure) {
        return value;
    }
    if (!wasi_keyvalue_store_method_bucket_get(bucket, &lent, &found, &error)) {
        value.failure = ppi_kv_failure(&error);
        return value;
    }
    return ppi_kv_value(&found);
}

pp_kv_presence pp_kv_exists(const char *key)
{
    pp_kv_presence presence = {NULL, false};
    wasi_keyvalue_store_borrow_bucket_t bucket;
    wasi_keyvalue_store_error_t error;
    plugin_string_t lent = ppi_lend(key);
    presence.failure = ppi_kv_open(&bucket);
    if (!presence.failure && !wasi_keyvalue_store_method_bucket_exists(bucket, &lent, &presence.exists, &error)) {
        presence.failure = ppi_kv_failure(&error);
    }
    return presence;
}

const pp_failure *pp_kv_set(const char *key, const void *data, size_t size)
{
    wasi_keyvalue_store_borrow_bucket_t bucket;
    wasi_keyvalue_store_error_t error;
    plugin_string_t lent = ppi_lend(key);
    plugin_list_u8_t value = ppi_lend_bytes(data, size);
    const pp_failure *failure = ppi_kv_open(&bucket);
    if (!failure && !wasi_keyvalue_store_method_bucket_set(bucket, &lent, &value, &error)) {
        failure = ppi_kv_failure(&error);
    }
    return failure;
}

const pp_failure *pp_kv_set_text(const char *key, const char *text)
{
    return pp_kv_set(key, text, strlen(text));
}

const pp_failure *pp_kv_delete(const char *key)
{
    wasi_keyvalue_store_borrow_bucket_t bucket;
    wasi_keyvalue_store_error_t error;
    plugin_string_t lent = ppi_lend(key);
    const pp_failure *failure = ppi_kv_open(&bucket);
    if (!failure && !wasi_keyvalue_store_method_bucket_delete(bucket, &lent, &error)) {
        failure = ppi_kv_failure(&error);
    }
    return failure;
}
