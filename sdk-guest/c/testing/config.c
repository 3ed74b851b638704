/* The plugin's settings, which the test makes. */
#include <stdlib.h>
#include <string.h>

#include "testing.h"

typedef struct setting {
    struct setting *older;
    const char *key, *value;
    bool is_secret;
} setting;

static setting *newest;

void ppt_new_config(void)
{
    newest = NULL;
}

static void make(const char *key, const char *value, bool is_secret)
{
    setting *made = ppt_keep(sizeof *made);
    made->older = newest;
    made->key = ppt_format("%s", key);
    made->value = ppt_format("%s", value);
    made->is_secret = is_secret;
    newest = made;
}

void pp_test_has_config(const char *key, const char *value)
{
    make(key, value, false);
}

void pp_test_has_secret(const char *key, const char *value)
{
    make(key, value, true);
}

static const setting *find(const char *key)
{
    const setting *found = newest;
    while (found && strcmp(found->key, key) != 0) {
        found = found->older;
    }
    return found;
}

bool wasi_config_store_get(plugin_string_t *key, plugin_option_string_t *ret, wasi_config_store_error_t *err)
{
    (void)err;
    const setting *found = find(ppt_text(*key));
    ret->is_some = found != NULL;
    if (found) {
        ret->val = ppt_give(found->value);
    }
    return true;
}

bool wasi_config_store_get_all(plugin_list_tuple2_string_string_t *ret, wasi_config_store_error_t *err)
{
    (void)err;
    size_t count = 0;
    for (const setting *at = newest; at; at = at->older) {
        count++;
    }
    ret->len = 0;
    ret->ptr = count > 0 ? calloc(count, sizeof *ret->ptr) : NULL;
    for (const setting *at = newest; at && ret->ptr; at = at->older) {
        /* Of two with one key the newer one counts. */
        if (!at->is_secret && find(at->key) == at) {
            ret->ptr[ret->len].f0 = ppt_give(at->key);
            ret->ptr[ret->len++].f1 = ppt_give(at->value);
        }
    }
    if (ret->len == 0) {
        free(ret->ptr);
    }
    return true;
}
