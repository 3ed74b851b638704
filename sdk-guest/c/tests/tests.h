/* The SDK's own tests: one program, one file for each part. */
#ifndef PLUGPORT_TESTS_H
#define PLUGPORT_TESTS_H

#include <plugport_testing.h>

/* The schema of the tool `validated`. */
#define OWN_SCHEMA 65536
extern char own_schema[OWN_SCHEMA];

void test_json(void);
void test_text(void);
void test_plugin(void);
void test_client_requests(void);
void test_http(void);
void test_kv(void);
void test_config(void);
void test_validation(void);

#endif
