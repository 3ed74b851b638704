/* Compression for pictures whose rows repeat. */
#ifndef QR_DEFLATE_H
#define QR_DEFLATE_H

#include "bytes.h"

/* RFC 1950 and 1951: fixed codes, and copies of what stands `stride` bytes before. */
bytes compress_rows(const bytes *rows, size_t stride);

#endif
