/* The two forms that are text. */
#include "draw.h"

#include <qrcodegen.h>

#include <plugport.h>

int side_of(const drawing *drawing)
{
    return qrcodegen_getSize(drawing->code) + 2 * drawing->border;
}

int is_dark(const drawing *drawing, int x, int y)
{
    return qrcodegen_getModule(drawing->code, x - drawing->border, y - drawing->border);
}

const char *draw_text(const drawing *drawing)
{
    static const char *const blocks[] = {" ", "\u2580", "\u2584", "\u2588"};
    bytes text = {0};
    int side = side_of(drawing);
    for (int y = 0; y < side; y += 2) {
        for (int x = 0; x < side; x++) {
            add_text(&text, blocks[is_dark(drawing, x, y) | is_dark(drawing, x, y + 1) << 1]);
        }
        add_text(&text, "\n");
    }
    add_byte(&text, 0);
    return (const char *)text.data;
}

/* One rectangle for each run of dark modules in a row. */
static void add_row(bytes *svg, const drawing *drawing, int y)
{
    int side = side_of(drawing);
    for (int x = 0; x < side; x++) {
        int from = x;
        while (x < side && is_dark(drawing, x, y)) {
            x++;
        }
        if (x > from) {
            add_text(svg, pp_format("M%d,%dh%dv1h-%dz", from, y, x - from, x - from));
        }
    }
}

const char *draw_svg(const drawing *drawing)
{
    bytes svg = {0};
    int side = side_of(drawing), pixels = side * drawing->scale;
    add_text(&svg, pp_format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                             "viewBox=\"0 0 %d %d\" shape-rendering=\"crispEdges\">"
                             "<path fill=\"#fff\" d=\"M0,0h%dv%dh-%dz\"/><path d=\"",
                             pixels, pixels, side, side, side, side, side));
    for (int y = 0; y < side; y++) {
        add_row(&svg, drawing, y);
    }
    add_text(&svg, "\"/></svg>");
    add_byte(&svg, 0);
    return (const char *)svg.data;
}
