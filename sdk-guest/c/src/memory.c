/* The memory of a call: blocks that only grow, and are given back together.
 *
 * A call is short and its instance seldom serves another, so nothing is gained by giving back single pieces, and authors
 * cannot forget to.
 */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

#define BLOCK ((size_t)8 << 10)
#define ALIGNMENT ((size_t)16)

typedef struct block {
    struct block *older;
    size_t used, size;
} block;

static block *newest;

/* Handles of the host, which a reused instance would otherwise keep. */
typedef struct last_job {
    struct last_job *earlier;
    ppi_last_job *run;
    void *state;
} last_job;

static last_job *last_jobs;

/* Where the bytes of a block begin, aligned. */
static size_t header(void)
{
    return (sizeof(block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void ppi_stop(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("plugport: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    fflush(NULL);
    abort();
}

static void add_block(size_t least)
{
    size_t size = least > BLOCK ? least : BLOCK;
    block *fresh = size > SIZE_MAX - header() ? NULL : malloc(header() + size);
    if (!fresh) {
        ppi_stop("out of memory: %zu more bytes were needed; the operator can raise the plugin's memory_mib", least);
    }
    fresh->older = newest;
    fresh->used = 0;
    fresh->size = size;
    newest = fresh;
}

void *pp_alloc(size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT) {
        ppi_stop("out of memory: %zu bytes were asked for", size);
    }
    size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!newest || newest->size - newest->used < rounded) {
        add_block(rounded);
    }
    void *found = (char *)newest + header() + newest->used;
    newest->used += rounded;
    return memset(found, 0, size);
}

void ppi_at_end(ppi_last_job *last, void *state)
{
    last_job *job = pp_alloc(sizeof *job);
    job->earlier = last_jobs;
    job->run = last;
    job->state = state;
    last_jobs = job;
}

void ppi_forget_all(void)
{
    for (; last_jobs; last_jobs = last_jobs->earlier) {
        last_jobs->run(last_jobs->state);
    }
    while (newest) {
        block *older = newest->older;
        free(newest);
        newest = older;
    }
}

char *pp_copy(const void *bytes, size_t length)
{
    if (length == SIZE_MAX) {
        ppi_stop("out of memory: %zu bytes were to be copied", length);
    }
    char *copy = pp_alloc(length + 1);
    if (length > 0) {
        memcpy(copy, bytes, length);
    }
    return copy;
}

char *ppi_format(const char *format, va_list values)
{
    va_list again;
    va_copy(again, values);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) {
        ppi_stop("the text \"%s\" cannot be printed with its values", format);
    }
    char *text = pp_alloc((size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, values);
    return text;
}

char *pp_format(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    char *text = ppi_format(format, values);
    va_end(values);
    return text;
}
