/* How arguments are validated: what the files of it share. */
#ifndef PLUGPORT_TESTING_VALIDATION_H
#define PLUGPORT_TESTING_VALIDATION_H

#include "testing.h"

/* The faults of a value, as one text. */
typedef struct ppt_faults {
    const char *text;
    size_t count;
} ppt_faults;

void ppt_add_fault(ppt_faults *faults, const char *text);

/* keywords.c: adds what the keywords about the value itself say, in the order in which the server names faults. */
void ppt_check_keywords(const pp_json *schema, const pp_json *value, const char *place, ppt_faults *faults);

/* nulls.c: follows references within the schema. */
const pp_json *ppt_resolved(const pp_json *root, const pp_json *schema);
/* The JSON of a value without space. With a schema it lacks the nulls that stand for optional arguments, as the server
 * removes them. */
const char *ppt_written(const pp_json *root, const pp_json *schema, const pp_json *value);

#endif
