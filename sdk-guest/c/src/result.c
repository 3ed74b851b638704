/* Results, piece by piece. Everything is copied, so that a plugin may pass what stands on its stack. */
#include "internal.h"

static ppi_piece *add_piece(pp_result *result, ppi_piece_kind kind, const void *data, size_t size)
{
    ppi_piece *piece = pp_alloc(sizeof(ppi_piece));
    piece->kind = kind;
    piece->data = pp_copy(data, size);
    piece->size = size;
    if (result->last) {
        result->last->next = piece;
    } else {
        result->first = piece;
    }
    result->last = piece;
    result->count++;
    return piece;
}

static const char *kept(const char *text)
{
    return text ? pp_copy(text, strlen(text)) : NULL;
}

static ppi_piece *add_printed(pp_result *result, const char *format, va_list values)
{
    const char *text = ppi_format(format, values);
    return add_piece(result, PPI_TEXT, text, strlen(text));
}

pp_result *pp_nothing(void)
{
    return pp_alloc(sizeof(pp_result));
}

pp_result *pp_text(const char *format, ...)
{
    pp_result *result = pp_nothing();
    va_list values;
    va_start(values, format);
    add_printed(result, format, values);
    va_end(values);
    return result;
}

pp_result *pp_error(const char *format, ...)
{
    pp_result *result = pp_nothing();
    va_list values;
    va_start(values, format);
    add_printed(result, format, values);
    va_end(values);
    result->is_error = true;
    return result;
}

pp_result *pp_structured(pp_doc *doc)
{
    if (ppi_doc_is_cut(doc)) {
        return pp_error("the result is nested more than %d deep; make it flatter, or parts of it a text", PPI_MOST_DEPTH);
    }
    pp_result *result = pp_nothing();
    result->structured = pp_doc_text(doc);
    add_piece(result, PPI_TEXT, result->structured, strlen(result->structured));
    return result;
}

pp_result *pp_bytes(const void *data, size_t size, const char *mime_type)
{
    pp_result *result = pp_nothing();
    add_piece(result, PPI_BYTES, data, size)->mime_type = kept(mime_type);
    return result;
}

static pp_result *failure(pp_failure_kind kind, const char *message)
{
    pp_failure failure = {kind, message, 0, NULL};
    return pp_failed(&failure);
}

pp_result *pp_failed(const pp_failure *failure)
{
    pp_result *result = pp_nothing();
    result->failed = true;
    result->failure = *failure;
    result->failure.message = kept(failure->message);
    result->failure.data = kept(failure->data);
    return result;
}

pp_result *pp_not_found(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const char *message = ppi_format(format, values);
    va_end(values);
    return failure(PP_FAILED_NOT_FOUND, message);
}

pp_result *pp_invalid(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const char *message = ppi_format(format, values);
    va_end(values);
    return failure(PP_FAILED_INVALID_PARAMS, message);
}

pp_result *pp_add_text(pp_result *result, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    add_printed(result, format, values);
    va_end(values);
    return result;
}

pp_result *pp_add_user(pp_result *result, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    add_printed(result, format, values);
    va_end(values);
    return result;
}

pp_result *pp_add_assistant(pp_result *result, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    add_printed(result, format, values)->from_assistant = true;
    va_end(values);
    return result;
}

pp_result *pp_add_image(pp_result *result, const void *data, size_t size, const char *mime_type)
{
    add_piece(result, PPI_IMAGE, data, size)->mime_type = kept(mime_type);
    return result;
}

pp_result *pp_add_audio(pp_result *result, const void *data, size_t size, const char *mime_type)
{
    add_piece(result, PPI_AUDIO, data, size)->mime_type = kept(mime_type);
    return result;
}

pp_result *pp_add_text_resource(pp_result *result, const char *uri, const char *mime_type, const char *text)
{
    ppi_piece *piece = add_piece(result, PPI_EMBEDDED, text, strlen(text));
    piece->uri = kept(uri);
    piece->mime_type = kept(mime_type);
    return result;
}

pp_result *pp_add_link(pp_result *result, const char *uri, const char *name)
{
    ppi_piece *piece = add_piece(result, PPI_LINK, "", 0);
    piece->uri = kept(uri);
    piece->name = kept(name);
    return result;
}

pp_result *pp_extra(pp_result *result, const char *json)
{
    result->extra = kept(json);
    return result;
}

const pp_failure *ppi_failure_of(const pp_result *result, bool for_tool)
{
    pp_failure *failure = pp_alloc(sizeof(pp_failure));
    failure->kind = PP_FAILED_INTERNAL;
    if (!result) {
        failure->message = "the plugin's function returned NULL; it must return a result";
        return failure;
    }
    if (result->failed) {
        return &result->failure;
    }
    /* Only tools have errors that are results. */
    failure->message = result->first ? result->first->data : "";
    return result->is_error && !for_tool ? failure : NULL;
}
