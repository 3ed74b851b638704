/* A QR code as text, as SVG and as PNG. */
#ifndef QR_DRAW_H
#define QR_DRAW_H

#include "bytes.h"

typedef struct drawing {
    /* what qrcodegen made */
    const uint8_t *code;
    /* light modules around it */
    int border;
    /* pixels for each module */
    int scale;
} drawing;

/* Modules on each side, with the border. */
int side_of(const drawing *drawing);
/* Whether the module is dark; those of the border are not. */
int is_dark(const drawing *drawing, int x, int y);

/* Two rows in each line. Dark modules are drawn, for a light background. */
const char *draw_text(const drawing *drawing);
const char *draw_svg(const drawing *drawing);
bytes draw_png(const drawing *drawing);

#endif
