/* Counted checks. A failing check prints its position and its values, and the others continue. */
#include <stdio.h>
#include <string.h>

#include "testing.h"

void ppi_forget_all(void);

static unsigned passed, failed;

void pp_test_check(bool good, const char *what, const char *file, int line)
{
    passed += good;
    failed += !good;
    if (!good) {
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    }
}

void pp_test_check_text(const char *actual, const char *expected, const char *what, const char *file, int line)
{
    bool good = actual && expected ? strcmp(actual, expected) == 0 : actual == expected;
    passed += good;
    failed += !good;
    if (!good) {
        fprintf(stderr, "%s:%d: %s\n  is        %s\n  should be %s\n", file, line, what, actual ? actual : "NULL",
                expected ? expected : "NULL");
    }
}

int pp_test_end(void)
{
    printf("%u checks passed, %u failed\n", passed, failed);
    ppi_forget_all();
    ppt_forget();
    return failed > 0;
}
