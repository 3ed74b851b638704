/* The plugin's settings, which its operator makes. Secrets are read by name like settings. */
#ifndef PLUGPORT_CONFIG_H
#define PLUGPORT_CONFIG_H

#include "result.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pp_setting {
    const pp_failure *failure;
    const char *key;
    /* NULL if the operator has not made it */
    const char *value;
} pp_setting;

typedef struct pp_settings {
    const pp_failure *failure;
    size_t count;
    const pp_setting *items;
} pp_settings;

pp_setting pp_config(const char *key);
/* One that the plugin cannot do without: there is a value, or a failure. */
pp_setting pp_config_require(const char *key);
/* All settings that are no secrets. */
pp_settings pp_config_all(void);

#ifdef __cplusplus
}
#endif
#endif
