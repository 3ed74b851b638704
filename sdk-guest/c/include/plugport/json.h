/* JSON: values to read, documents to write.
 *
 * Reading is strict and bounded. Every reader takes NULL for a value that is not there and then answers nothing, so
 * that `pp_json_text(pp_json_member(pp_json_at(list, 0), "name"), NULL)` needs no check in between.
 */
#ifndef PLUGPORT_JSON_H
#define PLUGPORT_JSON_H

#include "memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pp_json_kind {
    PP_JSON_NOTHING,
    PP_JSON_NULL,
    PP_JSON_BOOL,
    PP_JSON_NUMBER,
    PP_JSON_TEXT,
    PP_JSON_ARRAY,
    PP_JSON_OBJECT
} pp_json_kind;

typedef struct pp_json pp_json;

/* NULL when `text` is not JSON; then `why` (may be NULL) says where and why. */
const pp_json *pp_json_parse(const char *text, size_t length, const char **why);

pp_json_kind pp_json_kind_of(const pp_json *value);
/* Members of an object, items of an array. */
size_t pp_json_count(const pp_json *value);
const pp_json *pp_json_at(const pp_json *value, size_t index);
const pp_json *pp_json_member(const pp_json *value, const char *key);
/* The key of a member that pp_json_at found. */
const char *pp_json_key(const pp_json *member);
/* For loops: `for (v = pp_json_at(list, 0); v; v = pp_json_next(v))`. */
const pp_json *pp_json_next(const pp_json *value);

/* NULL unless it is text. `length` may be NULL; with it, text may hold U+0000. */
const char *pp_json_text(const pp_json *value, size_t *length);
/* 0 unless it is a number. */
double pp_json_number(const pp_json *value);
/* Whether it is a whole number that fits. */
bool pp_json_integer(const pp_json *value, int64_t *integer);
/* Whether it is `true`. */
bool pp_json_is_true(const pp_json *value);
/* The JSON it was read from. */
const char *pp_json_source(const pp_json *value);

/* A document that is being written. `key` is for members of objects; in arrays it is NULL. What is nested more than 64
 * deep becomes null, and a structured result of it an error. */
typedef struct pp_doc pp_doc;

pp_doc *pp_object(void);
pp_doc *pp_array(void);
void pp_put_text(pp_doc *doc, const char *key, const char *text);
void pp_put_integer(pp_doc *doc, const char *key, int64_t integer);
/* What JSON has no number for becomes null. */
void pp_put_number(pp_doc *doc, const char *key, double number);
void pp_put_bool(pp_doc *doc, const char *key, bool value);
void pp_put_null(pp_doc *doc, const char *key);
/* JSON text, used unchanged. */
void pp_put_json(pp_doc *doc, const char *key, const char *json);
void pp_open_object(pp_doc *doc, const char *key);
void pp_open_array(pp_doc *doc, const char *key);
/* Ends the array or object that was opened last. */
void pp_close(pp_doc *doc);
/* Ends all that is open. */
const char *pp_doc_text(pp_doc *doc);

#ifdef __cplusplus
}
#endif
#endif
