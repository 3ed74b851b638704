/* The keywords of JSON Schema that say something of one value. */
#include <ctype.h>
#include <string.h>

#include "validation.h"

#if defined(__has_include)
#if __has_include(<regex.h>)
#include <regex.h>
#define HAS_PATTERNS 1
#endif
#endif

static const char *said(const pp_json *value)
{
    return ppt_written(NULL, NULL, value);
}

static int order(const pp_json *left, const pp_json *right)
{
    int64_t whole, other;
    if (pp_json_integer(left, &whole) && pp_json_integer(right, &other)) {
        return (whole > other) - (whole < other);
    }
    double one = pp_json_number(left), two = pp_json_number(right);
    return (one > two) - (one < two);
}

/* As JSON has it: 1 and 1.0 are equal, 1 and true are not. */
static bool is_equal(const pp_json *left, const pp_json *right)
{
    if (pp_json_kind_of(left) != pp_json_kind_of(right)) {
        return false;
    }
    return pp_json_kind_of(left) == PP_JSON_NUMBER ? order(left, right) == 0 : strcmp(said(left), said(right)) == 0;
}

static bool is_a(const pp_json *value, const char *type)
{
    static const char *const names[] = {
        [PP_JSON_NULL] = "null",   [PP_JSON_BOOL] = "boolean", [PP_JSON_NUMBER] = "number",
        [PP_JSON_TEXT] = "string", [PP_JSON_ARRAY] = "array",  [PP_JSON_OBJECT] = "object",
    };
    if (strcmp(type, "integer") == 0) {
        double number = pp_json_number(value);
        int64_t integer;
        /* those beyond 64 bits are whole as well */
        bool is_large = number > 9e18 || number < -9e18;
        return pp_json_kind_of(value) == PP_JSON_NUMBER && (pp_json_integer(value, &integer) || is_large);
    }
    return strcmp(names[pp_json_kind_of(value)], type) == 0;
}

/* The names of types in the order of the alphabet, as the server lists them. */
static const char *listed_types(const pp_json *types)
{
    static const char *const names[] = {"array", "boolean", "integer", "null", "number", "object", "string"};
    const char *list = NULL;
    for (size_t at = 0; at < sizeof names / sizeof *names; at++) {
        for (const pp_json *one = pp_json_at(types, 0); one; one = pp_json_next(one)) {
            const char *name = pp_json_text(one, NULL);
            if (name && strcmp(name, names[at]) == 0) {
                list = list ? ppt_format("%s, \"%s\"", list, name) : ppt_format("\"%s\"", name);
            }
        }
    }
    return list ? list : "";
}

static const char *type_fault(const pp_json *value, const pp_json *types)
{
    const char *name = pp_json_text(types, NULL);
    if (name) {
        return is_a(value, name) ? NULL : ppt_format("%s is not of type \"%s\"", said(value), name);
    }
    for (const pp_json *one = pp_json_at(types, 0); one; one = pp_json_next(one)) {
        if (pp_json_text(one, NULL) && is_a(value, pp_json_text(one, NULL))) {
            return NULL;
        }
    }
    return ppt_format("%s is not of type%s %s", said(value), pp_json_count(types) == 1 ? "" : "s", listed_types(types));
}

static const char *const_fault(const pp_json *value, const pp_json *wanted)
{
    return is_equal(value, wanted) ? NULL : ppt_format("%s was expected", said(wanted));
}

static const char *enum_fault(const pp_json *value, const pp_json *choices)
{
    size_t count = pp_json_count(choices), shown = count > 3 ? 2 : count;
    const char *list = "";
    for (size_t at = 0; at < count; at++) {
        if (is_equal(value, pp_json_at(choices, at))) {
            return NULL;
        }
        const char *before = at == 0 ? "" : at + 1 == count ? " or " : ", ";
        list = at < shown ? ppt_format("%s%s%s", list, before, said(pp_json_at(choices, at))) : list;
    }
    list = count > shown ? ppt_format("%s or %zu other candidates", list, count - shown) : list;
    return ppt_format("%s is not one of %s", said(value), list);
}

static const char *multiple_fault(const pp_json *value, const pp_json *step)
{
    double number = pp_json_number(value), by = pp_json_number(step);
    double times = by != 0 ? number / by : 0;
    double size = times < 0 ? -times : times;
    /* The server divides the decimals as they are written; here the quotient may differ in its last bits. */
    double off = size < 9e15 ? size - (double)(int64_t)(size + 0.5) : 0;
    bool fits = (off < 0 ? -off : off) <= 4.5e-16 * size;
    return fits || pp_json_kind_of(value) != PP_JSON_NUMBER
               ? NULL
               : ppt_format("%s is not a multiple of %s", said(value), said(step));
}

static const char *unique_fault(const pp_json *value, const pp_json *wanted)
{
    size_t count = pp_json_is_true(wanted) && pp_json_kind_of(value) == PP_JSON_ARRAY ? pp_json_count(value) : 0;
    for (size_t at = 0; at < count; at++) {
        for (size_t other = 0; other < at; other++) {
            if (is_equal(pp_json_at(value, at), pp_json_at(value, other))) {
                return ppt_format("%s has non-unique elements", said(value));
            }
        }
    }
    return NULL;
}

#ifdef HAS_PATTERNS
/* A pattern as POSIX has it; NULL for what it has not. */
static const char *translated(const char *pattern)
{
    const char *out = "";
    bool in_class = false;
    for (; *pattern; pattern++) {
        bool is_escape = *pattern == '\\' && pattern[1];
        char letter = is_escape ? *++pattern : *pattern;
        const char *set = letter == 'd' ? "0-9" : letter == 'w' ? "A-Za-z0-9_" : letter == 's' ? " \t\r\n\f\v" : NULL;
        if ((is_escape && !set && isalnum((unsigned char)letter)) || (letter == '(' && pattern[1] == '?')) {
            return NULL;
        }
        if (is_escape) {
            out = set        ? ppt_format(in_class ? "%s%s" : "%s[%s]", out, set)
                  : in_class ? ppt_format("%s%c", out, letter)
                             : ppt_format("%s\\%c", out, letter);
            continue;
        }
        in_class = letter == '[' || (in_class && letter != ']');
        out = ppt_format("%s%c", out, letter);
    }
    return out;
}

static bool is_ascii(const char *text)
{
    while (*text && (unsigned char)*text < 0x80) {
        text++;
    }
    return !*text;
}

static bool matches(const char *text, const char *pattern)
{
    const char *posix = is_ascii(text) && is_ascii(pattern) ? translated(pattern) : NULL;
    regex_t compiled;
    if (!posix || regcomp(&compiled, posix, REG_EXTENDED | REG_NOSUB) != 0) {
        return true; /* for the server to validate */
    }
    bool fits = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return fits;
}
#else
static bool matches(const char *text, const char *pattern)
{
    (void)text, (void)pattern;
    return true;
}
#endif

static const char *pattern_fault(const pp_json *value, const pp_json *operand)
{
    const char *text = pp_json_text(value, NULL), *pattern = pp_json_text(operand, NULL);
    bool fits = !text || !pattern || matches(text, pattern);
    return fits ? NULL : ppt_format("%s does not match \"%s\"", said(value), pattern);
}

/* How many letters, items or members a value has. */
static size_t size_of(const pp_json *value)
{
    size_t length = 0, letters = 0;
    const char *text = pp_json_text(value, &length);
    for (size_t at = 0; at < length; at++) {
        letters += ((unsigned char)text[at] & 0xC0) != 0x80;
    }
    return text ? letters : pp_json_count(value);
}

/* A bound of values of one kind: the order of value and bound that is a fault, and whether being equal is one too. */
typedef struct bound {
    const char *keyword;
    pp_json_kind kind;
    int side;
    bool or_equal;
    const char *words, *one, *many;
} bound;

static const bound bounds[] = {
    {"minimum", PP_JSON_NUMBER, -1, false, "is less than the minimum of", "", ""},
    {"maximum", PP_JSON_NUMBER, 1, false, "is greater than the maximum of", "", ""},
    {"exclusiveMinimum", PP_JSON_NUMBER, -1, true, "is less than or equal to the minimum of", "", ""},
    {"exclusiveMaximum", PP_JSON_NUMBER, 1, true, "is greater than or equal to the maximum of", "", ""},
    {"minLength", PP_JSON_TEXT, -1, false, "is shorter than", " character", " characters"},
    {"maxLength", PP_JSON_TEXT, 1, false, "is longer than", " character", " characters"},
    {"minItems", PP_JSON_ARRAY, -1, false, "has less than", " item", " items"},
    {"maxItems", PP_JSON_ARRAY, 1, false, "has more than", " item", " items"},
    {"minProperties", PP_JSON_OBJECT, -1, false, "has less than", " property", " properties"},
    {"maxProperties", PP_JSON_OBJECT, 1, false, "has more than", " property", " properties"},
};

static const char *bound_fault(const bound *limit, const pp_json *value, const pp_json *operand)
{
    if (pp_json_kind_of(value) != limit->kind) {
        return NULL;
    }
    double most = pp_json_number(operand), size = (double)size_of(value);
    int side = limit->kind == PP_JSON_NUMBER ? order(value, operand) : (size > most) - (size < most);
    if (side != limit->side && !(side == 0 && limit->or_equal)) {
        return NULL;
    }
    const char *noun = most == 1 ? limit->one : limit->many;
    return ppt_format("%s %s %s%s", said(value), limit->words, said(operand), noun);
}

typedef const char *keyword_check(const pp_json *value, const pp_json *operand);

static void add(const char *why, const char *place, ppt_faults *faults)
{
    if (why) {
        ppt_add_fault(faults, ppt_format("%s: %s", place, why));
    }
}

void ppt_check_keywords(const pp_json *schema, const pp_json *value, const char *place, ppt_faults *faults)
{
    static const struct {
        const char *keyword;
        keyword_check *fault;
    } first[] = {{"type", type_fault}, {"const", const_fault}, {"enum", enum_fault}, {"multipleOf", multiple_fault}},
      last[] = {{"pattern", pattern_fault}, {"uniqueItems", unique_fault}};
    for (size_t at = 0; at < sizeof first / sizeof *first; at++) {
        const pp_json *operand = pp_json_member(schema, first[at].keyword);
        add(operand ? first[at].fault(value, operand) : NULL, place, faults);
    }
    for (size_t at = 0; at < sizeof bounds / sizeof *bounds; at++) {
        const pp_json *operand = pp_json_member(schema, bounds[at].keyword);
        add(operand ? bound_fault(&bounds[at], value, operand) : NULL, place, faults);
    }
    for (size_t at = 0; at < sizeof last / sizeof *last; at++) {
        const pp_json *operand = pp_json_member(schema, last[at].keyword);
        add(operand ? last[at].fault(value, operand) : NULL, place, faults);
    }
}
