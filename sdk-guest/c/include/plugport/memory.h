/* Memory of one call.
 *
 * What the functions of this SDK return lives until the call ends, and is then given back at once: authors free nothing
 * of it. Memory from malloc is still the author's own.
 */
#ifndef PLUGPORT_MEMORY_H
#define PLUGPORT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __GNUC__
#define PP_PRINTF(text, values) __attribute__((__format__(__printf__, text, values)))
#else
#define PP_PRINTF(text, values)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroed memory. There is no NULL to check for: without memory the call ends with a message. */
void *pp_alloc(size_t size);

/* A copy of `length` bytes, with a zero after them. */
char *pp_copy(const void *bytes, size_t length);

/* What printf would print. */
char *pp_format(const char *format, ...) PP_PRINTF(1, 2);

#ifdef __cplusplus
}
#endif
#endif
