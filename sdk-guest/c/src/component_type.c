/* The generated code wants to be linked with an object file that holds the WIT. `plugport build` embeds the WIT itself,
 * so that no binary stands among the sources; this takes the place of the symbol.
 */
void __component_type_object_force_link_plugin(void);

void __component_type_object_force_link_plugin(void) {}
