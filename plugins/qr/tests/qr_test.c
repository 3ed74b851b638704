/* Codes that other programs read, and arguments that make none. */
#include <stdio.h>
#include <string.h>

#include <plugport_testing.h>

/* The same modules as another implementation draws with this mask, and read by a third. */
static void draws_what_others_draw(void)
{
    const char *known = "█▀▀▀▀▀█ █▀ ▄  █▀▀▀▀▀█\n"
                        "█ ███ █ █  ▀▀ █ ███ █\n"
                        "█ ▀▀▀ █ ▀ █   █ ▀▀▀ █\n"
                        "▀▀▀▀▀▀▀ █ ▀ ▀ ▀▀▀▀▀▀▀\n"
                        " █▀ ▀ ▀▀▄▄▄▄▀ ▀ █▀▀▀█\n"
                        " ▄█▀▄█▀█ ▀█▄ ▄▀▄▀█▄▄ \n"
                        "▀   ▀ ▀ █▄▀█▀ █▀▀ █ █\n"
                        "█▀▀▀▀▀█ ▀▄▀▄▄ ▄█ █▀  \n"
                        "█ ███ █ ▀▄▀▄ ▄▀█▀▀▀█▀\n"
                        "█ ▀▀▀ █ █ ▄█▄█▀▀ █ ▄█\n"
                        "▀▀▀▀▀▀▀    ▀ ▀▀▀    ▀\n";
    pp_test_result result = pp_test_call(
        "encode", "{\"text\":\"HELLO WORLD\",\"format\":\"text\",\"error_correction\":\"quartile\",\"border\":0}");
    PP_CHECK_TEXT(result.text, known);
}

static void draws_a_png_that_others_read(void)
{
    static const char known[] = "89504e470d0a1a0a0000000d4948445200000015000000150100000000816c983b0000005d494441547801"
                                "6360b46167a8cdfdcee09a2acee0"
                                "5a0bc4b1e20cb577bf333086b033fcafffcf30e52b3bc37efe72861373ed19269dea6728750967f8af7b9d"
                                "81316e3e43ed92fd0cae31ec0cae"
                                "abde33b8666c67a8755ecec0f8e23b006ebb1d29747b8dbf0000000049454e44ae426082";
    pp_test_result result = pp_test_call("encode", "{\"text\":\"HELLO WORLD\",\"scale\":1,\"border\":0}");
    PP_CHECK_TEXT(result.mime_type, "image/png");
    PP_CHECK_TEXT(result.text, "A QR code of 21 x 21 modules, drawn in 21 x 21 pixels.");
    char digits[sizeof known] = "";
    for (size_t at = 0; at < result.size && 2 * at + 2 < sizeof digits; at++) {
        snprintf(digits + 2 * at, 3, "%02x", result.data[at]);
    }
    PP_CHECK(result.size * 2 + 1 == sizeof known);
    PP_CHECK_TEXT(digits, known);
}

static void draws_an_svg(void)
{
    pp_test_result result = pp_test_call("encode", "{\"text\":\"a\",\"format\":\"svg\",\"scale\":2}");
    const char *begin =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"58\" height=\"58\" viewBox=\"0 0 29 29\" "
        "shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0,0h29v29h-29z\"/><path d=\"M4,4h7v1h-7z";
    PP_CHECK(strncmp(result.text, begin, strlen(begin)) == 0);
    PP_CHECK_TEXT(strrchr(result.text, 'z'), "z\"/></svg>");
}

static void uses_the_room_of_the_largest_code(void)
{
    char args[8000];
    snprintf(args, sizeof args, "{\"text\":\"%02331d\",\"scale\":1,\"error_correction\":\"low\"}", 7);
    PP_CHECK(!pp_test_call("encode", args).is_error);
    snprintf(args, sizeof args, "{\"text\":\"x%02330d\",\"scale\":32}", 7);
    PP_CHECK(pp_test_call("encode", args).size > 10000);
    snprintf(args, sizeof args, "{\"text\":\"x%02331d\"}", 7);
    PP_CHECK_TEXT(pp_test_call("encode", args).text,
                  "2332 bytes are too many for a QR code with medium error correction, which holds 2331 bytes "
                  "(more if all are digits); shorten the text or lower error_correction");
    snprintf(args, sizeof args, "{\"text\":\"x%02953d\"}", 7);
    PP_CHECK_TEXT(pp_test_call("encode", args).text,
                  "2954 bytes are too many for a QR code with medium error correction, which holds 2331 bytes "
                  "(more if all are digits); shorten the text");
    snprintf(args, sizeof args, "{\"text\":\"%04000d\",\"error_correction\":\"high\"}", 7);
    PP_CHECK_TEXT(pp_test_call("encode", args).text,
                  "4000 bytes are too many for a QR code with high error correction, which holds 1273 bytes "
                  "(more if all are digits); shorten the text or lower error_correction");
    snprintf(args, sizeof args, "{\"text\":\"%04000d\",\"error_correction\":\"low\"}", 7);
    PP_CHECK(!pp_test_call("encode", args).is_error);
    snprintf(args, sizeof args, "{\"text\":\"%07090d\",\"error_correction\":\"high\"}", 7);
    PP_CHECK(strstr(pp_test_call("encode", args).text, "; shorten the text or") == NULL);
}

static void refuses_what_makes_no_code(void)
{
    PP_CHECK_TEXT(pp_test_call("encode", "{\"text\":\"\"}").text, "`text` is empty; pass what the code shall say");
    PP_CHECK_TEXT(pp_test_call("encode", "{\"text\":\"a\",\"scale\":33}").text,
                  "the arguments do not fit the tool's schema: /scale: 33 is greater than the maximum of 32");
    PP_CHECK_TEXT(pp_test_call("encode", "{\"text\":\"a\",\"format\":\"gif\"}").text,
                  "the arguments do not fit the tool's schema: /format: \"gif\" is not one of \"png\", \"svg\" or "
                  "\"text\"");
    PP_CHECK(pp_test_call("wifi", "{\"network\":\"a\",\"password\":\"short\"}").is_error);
    PP_CHECK(pp_test_call("wifi", "{\"network\":\"\"}").is_error);
    char args[200];
    snprintf(args, sizeof args, "{\"network\":\"a\",\"password\":\"x%063d\"}", 1);
    PP_CHECK(pp_test_call("wifi", args).is_error);
    snprintf(args, sizeof args, "{\"network\":\"a\",\"password\":\"F%063d\"}", 1);
    PP_CHECK(!pp_test_call("wifi", args).is_error);
}

static const char *same(const char *tool, const char *args)
{
    return pp_test_call(tool, args).text;
}

static void writes_networks_as_phones_read_them(void)
{
    PP_CHECK_TEXT(same("wifi", "{\"network\":\"my; net\",\"password\":\"pass\\\"word\",\"format\":\"text\"}"),
                  same("encode", "{\"text\":\"WIFI:T:WPA;P:pass\\\\\\\"word;S:my\\\\; net;;\",\"format\":\"text\"}"));
    PP_CHECK_TEXT(same("wifi", "{\"network\":\"cafe\",\"hidden\":true,\"format\":\"text\"}"),
                  same("encode", "{\"text\":\"WIFI:T:nopass;S:cafe;H:true;;\",\"format\":\"text\"}"));
}

int main(void)
{
    draws_what_others_draw();
    draws_a_png_that_others_read();
    draws_an_svg();
    uses_the_room_of_the_largest_code();
    refuses_what_makes_no_code();
    writes_networks_as_phones_read_them();
    return pp_test_end();
}
