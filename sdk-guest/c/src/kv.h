/* What the parts of the key-value store share. */
#ifndef PLUGPORT_SRC_KV_H
#define PLUGPORT_SRC_KV_H

#include "internal.h"

/* kv.c: the plugin's store, opened by the first function of a call that needs it. NULL unless it failed. */
const pp_failure *ppi_kv_open(wasi_keyvalue_store_borrow_bucket_t *bucket);
const pp_failure *ppi_kv_failure(wasi_keyvalue_store_error_t *error);
pp_kv_value ppi_kv_value(plugin_option_list_u8_t *found);

#endif
