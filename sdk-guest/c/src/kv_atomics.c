/* Changes of a value that do not lose those of other calls. */
#include "kv.h"

/* The maximum number of attempts of an update when other calls write the same key. */
#define ATTEMPTS 100

pp_kv_number pp_kv_increment(const char *key, int64_t by)
{
    pp_kv_number sum = {NULL, 0};
    wasi_keyvalue_store_borrow_bucket_t bucket;
    wasi_keyvalue_atomics_error_t error;
    plugin_string_t lent = ppi_lend(key);
    sum.failure = ppi_kv_open(&bucket);
    if (!sum.failure && !wasi_keyvalue_atomics_increment(bucket, &lent, by, &sum.number, &error)) {
        sum.failure = ppi_kv_failure(&error);
    }
    return sum;
}

pp_kv_value pp_kv_text(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const char *text = ppi_format(format, values);
    va_end(values);
    pp_kv_value value = {NULL, text, strlen(text)};
    return value;
}

static pp_kv_value failed(const pp_failure *failure)
{
    pp_kv_value value = {failure, NULL, 0};
    return value;
}

static pp_kv_value current(wasi_keyvalue_atomics_own_cas_t cas)
{
    plugin_option_list_u8_t found;
    wasi_keyvalue_atomics_error_t error;
    bool read = wasi_keyvalue_atomics_method_cas_current(wasi_keyvalue_atomics_borrow_cas(cas), &found, &error);
    return read ? ppi_kv_value(&found) : failed(ppi_kv_failure(&error));
}

static pp_kv_value changed(pp_kv_change *change, void *state, pp_kv_value old)
{
    pp_kv_value value = old.failure ? old : change(state, old);
    if (value.failure || value.data) {
        return value;
    }
    return failed(ppi_failure(PP_FAILED_INTERNAL, "an update returned no value; call pp_kv_delete to remove a key"));
}

/* Whether the update is over, well or not. If not, another call has written the key, and `cas` is the next attempt. */
static bool attempt(wasi_keyvalue_atomics_own_cas_t *cas, pp_kv_change *change, void *state, pp_kv_value *value)
{
    wasi_keyvalue_atomics_cas_error_t error;
    *value = changed(change, state, current(*cas));
    if (value->failure) {
        wasi_keyvalue_atomics_cas_drop_own(*cas);
        return true;
    }
    plugin_list_u8_t written = ppi_lend_bytes(value->data, value->size);
    if (wasi_keyvalue_atomics_swap(*cas, &written, &error)) {
        return true;
    }
    if (error.tag == WASI_KEYVALUE_ATOMICS_CAS_ERROR_CAS_FAILED) {
        *cas = error.val.cas_failed;
        return false;
    }
    *value = failed(ppi_kv_failure(&error.val.store_error));
    return true;
}

pp_kv_value pp_kv_update(const char *key, pp_kv_change *change, void *state)
{
    pp_kv_value value;
    wasi_keyvalue_store_borrow_bucket_t bucket;
    wasi_keyvalue_atomics_error_t error;
    wasi_keyvalue_atomics_own_cas_t cas;
    plugin_string_t lent = ppi_lend(key);
    const pp_failure *failure = ppi_kv_open(&bucket);
    if (failure) {
        return failed(failure);
    }
    if (!wasi_keyvalue_atomics_static_cas_new(bucket, &lent, &cas, &error)) {
        return failed(ppi_kv_failure(&error));
    }
    for (int attempts = 0; attempts < ATTEMPTS; attempts++) {
        if (attempt(&cas, change, state, &value)) {
            return value;
        }
    }
    wasi_keyvalue_atomics_cas_drop_own(cas);
    return failed(ppi_failure(PP_FAILED_INTERNAL, "`%s` could not be updated, since others kept writing it", key));
}
