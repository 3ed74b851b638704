/* What the parts of the fake host share. */
#ifndef PLUGPORT_TESTING_INTERNAL_H
#define PLUGPORT_TESTING_INTERNAL_H

#include <stdarg.h>

#include "../src/internal.h"
#include "plugport_testing.h"

/* Memory until the end of the tests. */
void *ppt_keep(size_t size);
char *ppt_format(const char *format, ...) PP_PRINTF(1, 2);
char *ppt_text(plugin_string_t text);
void ppt_forget(void);
/* Text that the plugin takes over. */
plugin_string_t ppt_give(const char *text);
plugin_list_u8_t ppt_give_bytes(const void *data, size_t size);

/* client.c */
bool ppt_is_denied(void);
/* A text as JSON, which may have U+0000 in it. */
const char *ppt_quoted(const char *text, size_t length);

/* validation.c: whether the server gives these arguments to the tool, then without nulls; if not, what a client gets. */
bool ppt_validate(const char *tool, const char **args, pp_test_result *result);
/* Replaces a result whose structured content does not fit the tool's schema by what a client gets. */
void ppt_validate_result(const char *tool, pp_test_result *result);
/* The schema that `properties` has for a member of an object, or NULL. */
const pp_json *ppt_property(const pp_json *schema, const pp_json *member);
/* forms.c: why the server does not pass on what a person filled in, or NULL. */
const char *ppt_form_fault(const pp_json *schema, const pp_json *content);

/* What a new client begins without. */
void ppt_new_http(void);
void ppt_new_store(void);
void ppt_new_config(void);

/* host.c: a call without validation. */
pp_test_result ppt_call(const char *tool, const char *args);

#endif
