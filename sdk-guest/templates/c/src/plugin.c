/* A plugin with one tool. Write a function, and a row in the table below. */
#include <ctype.h>

#include <plugport.h>

static const pp_form who = {.fields = {PP_STRING("name", "Your name")}};

/* The name that the person gives, or NULL. */
static const char *ask_for_name(pp_call *call)
{
    pp_elicit_result answer = pp_elicit(call, &who, "Whom shall I greet?");
    if (answer.failure) {
        pp_log(call, PP_WARNING, NULL, "nobody can be asked: %s", answer.failure->message);
    }
    return answer.action == PP_ACCEPTED ? pp_string(answer.values, "name") : NULL;
}

static void capitalize(char *text)
{
    for (; *text; text++) {
        *text = (char)toupper((unsigned char)*text);
    }
}

static pp_result *hello(pp_call *call, const pp_args *args)
{
    const char *name = pp_string(args, "name");
    if (!name) {
        name = ask_for_name(call);
    }
    char *greeting = pp_format("Hello, %s!", name ? name : "whoever you are");
    if (pp_bool(args, "shout")) {
        capitalize(greeting);
    }
    pp_log(call, PP_INFO, NULL, "greeting %s", name ? name : "somebody");
    return pp_text("%s", greeting);
}

PP_TOOLS({
    .name = "hello",
    .description = "Greet someone by name.",
    .call = hello,
    .params =
        {
            PP_STRING("name", "Who to greet; the person is asked if it is left out.", .optional = true),
            PP_BOOL("shout", "Whether to greet in capitals.", .otherwise = "false"),
        },
});
