/* Several questions in one round trip.
 *
 * The author's array holds the questions and takes the answers, so that neither can be mixed up with another's.
 */
#include <stdlib.h>

#include "questions.h"

static void lend_question(const pp_question *question, plugport_plugin_inputs_input_request_t *out)
{
    if (!question->key) {
        ppi_stop("each question of pp_gather needs a .key");
    }
    out->key = ppi_lend(question->key);
    if (question->sampling) {
        out->body.tag = PLUGPORT_PLUGIN_INPUTS_BODY_CREATE_MESSAGE;
        out->body.val.create_message = ppi_lend(ppi_sampling_params(question->sampling));
    } else if (question->form) {
        const char *message = question->message ? question->message : "";
        out->body.tag = PLUGPORT_PLUGIN_INPUTS_BODY_ELICIT;
        out->body.val.elicit = ppi_lend(ppi_form_params(message, question->form));
    } else {
        out->body.tag = PLUGPORT_PLUGIN_INPUTS_BODY_LIST_ROOTS;
    }
}

static pp_roots roots_in(plugin_string_t *answer)
{
    pp_roots roots = {NULL, 0, NULL};
    const pp_json *list = pp_json_member(ppi_answer(answer, &roots.failure), "roots");
    pp_root *items = pp_alloc(pp_json_count(list) * sizeof(pp_root));
    for (const pp_json *root = pp_json_at(list, 0); root; root = pp_json_next(root)) {
        const char *uri = pp_json_text(pp_json_member(root, "uri"), NULL);
        if (uri) {
            items[roots.count].uri = uri;
            items[roots.count++].name = pp_json_text(pp_json_member(root, "name"), NULL);
        }
    }
    roots.items = items;
    return roots;
}

static void fail(pp_question *question, const pp_failure *failure)
{
    question->sampled = (pp_sampled){failure, "", NULL};
    question->elicited = (pp_elicited){PP_FAILED, failure, NULL};
    question->found = (pp_roots){failure, 0, NULL};
}

static void take_answer(pp_question *question, plugport_plugin_inputs_input_response_t *answer)
{
    if (answer->outcome.is_err) {
        fail(question, ppi_lift_failure(&answer->outcome.val.err));
    } else if (question->sampling) {
        question->sampled = ppi_sampled(&answer->outcome.val.ok);
    } else if (question->form) {
        question->elicited = ppi_elicited(question->form, &answer->outcome.val.ok);
    } else {
        question->found = roots_in(&answer->outcome.val.ok);
    }
}

static pp_question *named(pp_question *questions, size_t count, const char *key)
{
    for (size_t at = 0; at < count; at++) {
        if (strcmp(questions[at].key, key) == 0) {
            return &questions[at];
        }
    }
    return NULL;
}

const pp_failure *pp_gather(pp_call *call, pp_question *questions, size_t count)
{
    static const pp_failure unanswered = {PP_FAILED_INTERNAL, "the client gave no answer to this question", 0, NULL};
    plugport_plugin_inputs_list_input_request_t asked = {pp_alloc(count * sizeof *asked.ptr), count};
    plugport_plugin_inputs_list_input_response_t answers = {NULL, 0};
    plugport_plugin_types_error_t error;
    for (size_t at = 0; at < count; at++) {
        lend_question(&questions[at], &asked.ptr[at]);
    }
    bool answered = plugport_plugin_inputs_request_inputs(call->handle, &asked, &answers, &error);
    const pp_failure *failure = answered ? NULL : ppi_lift_failure(&error);
    for (size_t at = 0; at < count; at++) {
        fail(&questions[at], failure ? failure : &unanswered);
    }
    for (size_t at = 0; answered && at < answers.len; at++) {
        pp_question *question = named(questions, count, ppi_lift(&answers.ptr[at].key));
        if (question) {
            take_answer(question, &answers.ptr[at]);
        }
    }
    if (answered && answers.len > 0) {
        free(answers.ptr);
    }
    return failure;
}
