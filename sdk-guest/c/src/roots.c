/* The folders that the person works in. */
#include <stdlib.h>

#include "client_requests.h"

pp_roots pp_list_roots(pp_call *call)
{
    pp_roots roots = {NULL, 0, NULL};
    plugport_plugin_roots_list_root_t found;
    plugport_plugin_types_error_t error;
    if (!plugport_plugin_roots_list_roots(call->handle, NULL, &found, &error)) {
        roots.failure = ppi_lift_failure(&error);
        return roots;
    }
    pp_root *items = pp_alloc(found.len * sizeof(pp_root));
    for (size_t at = 0; at < found.len; at++) {
        items[at].uri = ppi_lift(&found.ptr[at].uri);
        items[at].name = found.ptr[at].name.is_some ? ppi_lift(&found.ptr[at].name.val) : NULL;
    }
    if (found.len > 0) {
        free(found.ptr);
    }
    roots.count = found.len;
    roots.items = items;
    return roots;
}
