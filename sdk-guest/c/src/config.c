/* The interface `wasi:config`. */
#include <stdlib.h>

#include "internal.h"

static const pp_failure *unreadable(wasi_config_store_error_t *error)
{
    return ppi_failure(PP_FAILED_INTERNAL, "the configuration cannot be read: %s", ppi_lift(&error->val.upstream));
}

pp_setting pp_config(const char *key)
{
    pp_setting setting = {NULL, key, NULL};
    plugin_option_string_t found;
    wasi_config_store_error_t error;
    plugin_string_t lent = ppi_lend(key);
    if (!wasi_config_store_get(&lent, &found, &error)) {
        setting.failure = unreadable(&error);
    } else if (found.is_some) {
        setting.value = ppi_lift(&found.val);
    }
    return setting;
}

pp_setting pp_config_require(const char *key)
{
    pp_setting setting = pp_config(key);
    if (!setting.failure && !setting.value) {
        setting.failure =
            ppi_failure(PP_FAILED_INTERNAL, "this plugin needs the setting `%s`, which its operator has not made", key);
    }
    return setting;
}

pp_settings pp_config_all(void)
{
    pp_settings settings = {NULL, 0, NULL};
    plugin_list_tuple2_string_string_t found;
    wasi_config_store_error_t error;
    if (!wasi_config_store_get_all(&found, &error)) {
        settings.failure = unreadable(&error);
        return settings;
    }
    pp_setting *items = pp_alloc(found.len * sizeof *items);
    for (size_t at = 0; at < found.len; at++) {
        items[at].key = ppi_lift(&found.ptr[at].f0);
        items[at].value = ppi_lift(&found.ptr[at].f1);
    }
    if (found.len > 0) {
        free(found.ptr);
    }
    settings.count = found.len;
    settings.items = items;
    return settings;
}
