/* Write an MCP tool, resource or prompt as a C function, and build it into a WebAssembly component.
 *
 * An author includes this file alone, writes functions, and lists them in tables. The parts stand in files of their
 * own: memory and values, tables, results, the call, and what the host has besides: requests, a store and settings.
 * Everything begins with `pp_`, macros with `PP_`.
 */
#ifndef PLUGPORT_H
#define PLUGPORT_H

#define PLUGPORT_SDK_VERSION "0.1.0"

#include "plugport/memory.h"
#include "plugport/json.h"
#include "plugport/args.h"
#include "plugport/result.h"
#include "plugport/tables.h"
#include "plugport/call.h"
#include "plugport/http.h"
#include "plugport/kv.h"
#include "plugport/config.h"

#endif
