/* The tables of a plugin that has none. A plugin's own take their place when it is linked. */
#include "internal.h"

__attribute__((weak)) const pp_tool_table pp_tools_of_plugin = {NULL, 0};
__attribute__((weak)) const pp_resource_table pp_resources_of_plugin = {NULL, 0};
__attribute__((weak)) const pp_prompt_table pp_prompts_of_plugin = {NULL, 0};
__attribute__((weak)) const pp_completion_table pp_completions_of_plugin = {NULL, 0};
