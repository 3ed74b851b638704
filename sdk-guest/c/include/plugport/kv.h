/* The plugin's key-value store, in which values outlive the call.
 *
 * No other plugin sees it, and the operator has to grant it. The operator may also give each caller a store of its own.
 * A value is bytes; what is returned has a zero after it, so that text is a C string.
 */
#ifndef PLUGPORT_KV_H
#define PLUGPORT_KV_H

#include "result.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pp_kv_value {
    const pp_failure *failure;
    /* NULL if there is none */
    const char *data;
    size_t size;
} pp_kv_value;

typedef struct pp_kv_presence {
    const pp_failure *failure;
    bool exists;
} pp_kv_presence;

typedef struct pp_kv_number {
    const pp_failure *failure;
    int64_t number;
} pp_kv_number;

typedef struct pp_kv_list {
    const pp_failure *failure;
    size_t count;
    const char *const *items;
} pp_kv_list;

pp_kv_value pp_kv_get(const char *key);
pp_kv_presence pp_kv_exists(const char *key);
/* NULL unless it failed. */
const pp_failure *pp_kv_set(const char *key, const void *data, size_t size);
const pp_failure *pp_kv_set_text(const char *key, const char *text);
/* Removes a key, if it is there. */
const pp_failure *pp_kv_delete(const char *key);
/* Adds to a number and returns the sum; a missing number counts as 0. Concurrent additions are not lost. */
pp_kv_number pp_kv_increment(const char *key, int64_t by);
/* All keys, in no fixed order. */
pp_kv_list pp_kv_keys(void);

/* Makes a new value of the old one, or gives up with a `failure`. Nothing else should happen in it, since it is called
 * again when another call has written the key meanwhile. A value whose `data` is NULL is a failure, which says to call
 * pp_kv_delete; the key stays as it is. */
typedef pp_kv_value pp_kv_change(void *state, pp_kv_value old);

/* Replaces a value by what `change` makes of it, and returns that. */
pp_kv_value pp_kv_update(const char *key, pp_kv_change *change, void *state);
/* A value that is text. */
pp_kv_value pp_kv_text(const char *format, ...) PP_PRINTF(1, 2);

#ifdef __cplusplus
}
#endif
#endif
