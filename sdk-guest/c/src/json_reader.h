/* What the two halves of the JSON reader share: a place in the text, and the first fault. */
#ifndef PLUGPORT_JSON_READER_H
#define PLUGPORT_JSON_READER_H

#include "internal.h"

typedef struct ppi_reader {
    const char *start, *at, *end;
    const char *fault;
    unsigned depth;
} ppi_reader;

/* What is between quotes, decoded, or NULL. The first quote is behind. */
const char *ppi_read_text(ppi_reader *in, size_t *length);

#endif
