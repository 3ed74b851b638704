#include "tests.h"

int main(void)
{
    test_json();
    test_text();
    test_plugin();
    test_asking();
    return pp_test_end();
}
