/* Tells the host that lists have changed. */
#include "internal.h"

void pp_tools_changed(void)
{
    plugport_plugin_changes_list_changed(PLUGPORT_PLUGIN_CHANGES_LISTING_TOOLS);
}

void pp_resources_changed(void)
{
    plugport_plugin_changes_list_changed(PLUGPORT_PLUGIN_CHANGES_LISTING_RESOURCES);
}

void pp_prompts_changed(void)
{
    plugport_plugin_changes_list_changed(PLUGPORT_PLUGIN_CHANGES_LISTING_PROMPTS);
}

void pp_resource_updated(const char *uri)
{
    plugin_string_t lent = ppi_lend(uri);
    plugport_plugin_changes_resource_updated(&lent);
}
