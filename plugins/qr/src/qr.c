/* QR codes for whatever a person may want to scan. The code itself is made by Project Nayuki's library in vendor/. */
#include <stdint.h>
#include <string.h>

#include <plugport.h>
#include <qrcodegen.h>

#include "draw.h"

static const struct {
    const char *name;
    enum qrcodegen_Ecc level;
    /* bytes that the largest code holds */
    unsigned most;
} corrections[] = {
    {"low", qrcodegen_Ecc_LOW, 2953},
    {"medium", qrcodegen_Ecc_MEDIUM, 2331},
    {"quartile", qrcodegen_Ecc_QUARTILE, 1663},
    {"high", qrcodegen_Ecc_HIGH, 1273},
};

/* The index of the wanted one; the table of the tool lets no other pass. */
static size_t correction_of(const pp_args *args)
{
    size_t at = 0;
    while (at < 3 && strcmp(corrections[at].name, pp_string(args, "error_correction")) != 0) {
        at++;
    }
    return at;
}

static pp_result *draw(const drawing *drawing, const char *format)
{
    int modules = qrcodegen_getSize(drawing->code);
    if (strcmp(format, "text") == 0) {
        return pp_text("%s", draw_text(drawing));
    }
    if (strcmp(format, "svg") == 0) {
        return pp_text("%s", draw_svg(drawing));
    }
    bytes png = draw_png(drawing);
    int pixels = side_of(drawing) * drawing->scale;
    pp_result *result =
        pp_text("A QR code of %d x %d modules, drawn in %d x %d pixels.", modules, modules, pixels, pixels);
    return pp_add_image(result, png.data, png.size, "image/png");
}

static bool makes_code(const char *text, enum qrcodegen_Ecc level, uint8_t *scratch, uint8_t *code)
{
    return qrcodegen_encodeText(text, scratch, code, level, qrcodegen_VERSION_MIN, qrcodegen_VERSION_MAX,
                                qrcodegen_Mask_AUTO, true);
}

/* Draws `text` as the other arguments say. */
static pp_result *encode(const char *text, const pp_args *args)
{
    uint8_t *code = pp_alloc(qrcodegen_BUFFER_LEN_MAX), *scratch = pp_alloc(qrcodegen_BUFFER_LEN_MAX);
    size_t correction = correction_of(args);
    /* The library measures texts in ints, and none of this length fits. */
    bool fits = strlen(text) <= qrcodegen_BUFFER_LEN_MAX * 3;
    if (!fits || !makes_code(text, corrections[correction].level, scratch, code)) {
        /* How much fits depends on what it is, which the library knows. */
        bool lower = correction > 0 && fits && makes_code(text, corrections[0].level, scratch, code);
        return pp_error("%zu bytes are too many for a QR code with %s error correction, which holds %u bytes (more if "
                        "all are digits); %s",
                        strlen(text), corrections[correction].name, corrections[correction].most,
                        lower ? "shorten the text or lower error_correction" : "shorten the text");
    }
    drawing drawing = {code, (int)pp_integer(args, "border"), (int)pp_integer(args, "scale")};
    return draw(&drawing, pp_string(args, "format"));
}

static pp_result *encode_text(pp_call *call, const pp_args *args)
{
    (void)call;
    const char *text = pp_string(args, "text");
    return *text ? encode(text, args) : pp_error("`text` is empty; pass what the code shall say");
}

/* What phones read as a network has its special characters escaped. */
static const char *escaped(const char *text)
{
    bytes out = {0};
    for (; *text; text++) {
        if (strchr("\\;,:\"", *text)) {
            add_byte(&out, '\\');
        }
        add_byte(&out, (uint8_t)*text);
    }
    add_byte(&out, 0);
    return (const char *)out.data;
}

/* 64 digits are the key itself, which networks otherwise make of the password. */
static bool is_password(const char *text)
{
    size_t size = strlen(text);
    return (size >= 8 && size <= 63) || (size == 64 && strspn(text, "0123456789abcdefABCDEF") == 64);
}

static pp_result *encode_wifi(pp_call *call, const pp_args *args)
{
    (void)call;
    const char *network = pp_string(args, "network"), *password = pp_string(args, "password");
    if (!*network || strlen(network) > 32) {
        return pp_error("`network` must have 1 to 32 bytes; this one has %zu", strlen(network));
    }
    if (password && !is_password(password)) {
        return pp_error("`password` must have 8 to 63 bytes, or 64 hexadecimal digits; leave it out for an open network");
    }
    const char *secret = password ? pp_format("T:WPA;P:%s;", escaped(password)) : "T:nopass;";
    const char *hidden = pp_bool(args, "hidden") ? "H:true;" : "";
    return encode(pp_format("WIFI:%sS:%s;%s;", secret, escaped(network), hidden), args);
}

#define DRAWING                                                                                                      \
    PP_CHOICE("format", "png|svg|text",                                                                              \
              "png is an image, svg the source of one, text is drawn with block characters for a light background.", \
              .otherwise = "\"png\""),                                                                               \
        PP_CHOICE("error_correction", "low|medium|quartile|high",                                                    \
                  "How much of the code may be lost: 7, 15, 25 or 30 %.", .otherwise = "\"medium\""),                \
        PP_INTEGER_IN("scale", 1, 32, "Pixels for each module.", .otherwise = "8"),                                  \
        PP_INTEGER_IN("border", 0, 16, "Light modules around the code; scanners want 4.", .otherwise = "4")

PP_TOOLS(
    {
        .name = "encode",
        .title = "Draw a QR code",
        .description = "Draw a QR code of a text or a link.",
        .call = encode_text,
        .hints = PP_READ_ONLY | PP_IDEMPOTENT | PP_CLOSED_WORLD,
        .params = {PP_STRING("text", "What the code says: a text, a link, or anything else that scanners know."),
                   DRAWING},
    },
    {
        .name = "wifi",
        .title = "Draw a QR code for a wireless network",
        .description = "Draw a QR code that lets a phone join a wireless network.",
        .call = encode_wifi,
        .hints = PP_READ_ONLY | PP_IDEMPOTENT | PP_CLOSED_WORLD,
        .params =
            {
                PP_STRING("network", "The network's name (SSID)."),
                PP_STRING("password", "Its WPA password; leave it out for an open network.", .optional = true),
                PP_BOOL("hidden", "Whether the network does not announce itself.", .otherwise = "false"),
                DRAWING,
            },
    });
