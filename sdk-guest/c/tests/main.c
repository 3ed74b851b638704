#include "tests.h"

int main(void)
{
    test_json();
    test_text();
    test_plugin();
    test_client_requests();
    test_http();
    test_kv();
    test_config();
    test_validation();
    return pp_test_end();
}
