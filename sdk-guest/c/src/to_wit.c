/* From a result to the three forms that the WIT has for it: content of a tool, of a resource, and messages of a prompt.
 */
#include "internal.h"

#define DATA_TEXT PLUGPORT_PLUGIN_TYPES_CONTENT_DATA_TEXT
#define DATA_IMAGE PLUGPORT_PLUGIN_TYPES_CONTENT_DATA_IMAGE
#define DATA_AUDIO PLUGPORT_PLUGIN_TYPES_CONTENT_DATA_AUDIO
#define DATA_EMBEDDED PLUGPORT_PLUGIN_TYPES_CONTENT_DATA_EMBEDDED
#define DATA_LINK PLUGPORT_PLUGIN_TYPES_CONTENT_DATA_LINK

static plugin_list_u8_t lower_bytes(const ppi_piece *piece)
{
    plugin_list_u8_t bytes = {ppi_host_alloc(piece->size, 1), piece->size};
    if (piece->size > 0) {
        memcpy(bytes.ptr, piece->data, piece->size);
    }
    return bytes;
}

static bool begins(const char *text, const char *with)
{
    return text && strncmp(text, with, strlen(with)) == 0;
}

static void lower_resource(const ppi_piece *piece, const char *uri, const char *mime_type,
                           plugport_plugin_types_resource_contents_t *out)
{
    bool is_text = piece->kind == PPI_TEXT || piece->kind == PPI_EMBEDDED;
    const char *usual = is_text ? "text/plain" : "application/octet-stream";
    out->uri = ppi_lower(piece->uri ? piece->uri : uri);
    out->mime_type = ppi_lower_option(piece->mime_type ? piece->mime_type : mime_type ? mime_type : usual);
    if (is_text) {
        out->data.tag = PLUGPORT_PLUGIN_TYPES_RESOURCE_DATA_TEXT;
        out->data.val.text = ppi_lower_n(piece->data, piece->size);
    } else {
        out->data.tag = PLUGPORT_PLUGIN_TYPES_RESOURCE_DATA_BLOB;
        out->data.val.blob = lower_bytes(piece);
    }
}

static void lower_media(const ppi_piece *piece, plugport_plugin_types_media_t *out)
{
    out->data = lower_bytes(piece);
    out->mime_type = ppi_lower(piece->mime_type);
}

static void lower_content(const ppi_piece *piece, plugport_plugin_types_content_t *out)
{
    bool bytes = piece->kind == PPI_BYTES;
    if (piece->kind == PPI_TEXT) {
        out->data.tag = DATA_TEXT;
        out->data.val.text = ppi_lower_n(piece->data, piece->size);
    } else if (piece->kind == PPI_IMAGE || (bytes && begins(piece->mime_type, "image/"))) {
        out->data.tag = DATA_IMAGE;
        lower_media(piece, &out->data.val.image);
    } else if (piece->kind == PPI_AUDIO || (bytes && begins(piece->mime_type, "audio/"))) {
        out->data.tag = DATA_AUDIO;
        lower_media(piece, &out->data.val.audio);
    } else if (piece->kind == PPI_LINK) {
        out->data.tag = DATA_LINK;
        out->data.val.link.uri = ppi_lower(piece->uri);
        out->data.val.link.name = ppi_lower(piece->name);
    } else {
        out->data.tag = DATA_EMBEDDED;
        lower_resource(piece, "plugin:bytes", NULL, &out->data.val.embedded);
    }
}

void ppi_lower_tool_result(const pp_result *result, exports_plugport_plugin_tools_tool_result_t *out)
{
    memset(out, 0, sizeof *out);
    out->content.len = result->count;
    out->content.ptr = ppi_host_alloc(result->count, sizeof *out->content.ptr);
    size_t at = 0;
    for (const ppi_piece *piece = result->first; piece; piece = piece->next) {
        lower_content(piece, &out->content.ptr[at++]);
    }
    out->structured = ppi_lower_option(result->structured);
    out->is_error = result->is_error;
    out->extra = ppi_lower_option(result->extra);
}

void ppi_lower_contents(const pp_result *result, const char *uri, const char *mime_type,
                        exports_plugport_plugin_resources_list_resource_contents_t *out)
{
    out->len = result->count;
    out->ptr = ppi_host_alloc(result->count, sizeof *out->ptr);
    size_t at = 0;
    for (const ppi_piece *piece = result->first; piece; piece = piece->next) {
        lower_resource(piece, uri, mime_type, &out->ptr[at]);
        out->ptr[at++].extra = ppi_lower_option(result->extra);
    }
}

void ppi_lower_messages(const pp_result *result, exports_plugport_plugin_prompts_prompt_result_t *out)
{
    memset(out, 0, sizeof *out);
    out->messages.len = result->count;
    out->messages.ptr = ppi_host_alloc(result->count, sizeof *out->messages.ptr);
    size_t at = 0;
    for (const ppi_piece *piece = result->first; piece; piece = piece->next, at++) {
        out->messages.ptr[at].role =
            piece->from_assistant ? PLUGPORT_PLUGIN_TYPES_ROLE_ASSISTANT : PLUGPORT_PLUGIN_TYPES_ROLE_USER;
        lower_content(piece, &out->messages.ptr[at].content);
    }
    out->extra = ppi_lower_option(result->extra);
}
