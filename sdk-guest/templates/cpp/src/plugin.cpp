// A plugin with one tool. Write a function, and a row in the table below.
#include <algorithm>
#include <cctype>
#include <string>

#include <plugport.h>

namespace
{

const pp_form who = {.fields = {PP_STRING("name", "Your name")}};

// The name that the person gives, or an empty one.
std::string ask_for_name(pp_call *call)
{
    pp_elicit_result answer = pp_elicit(call, &who, "Whom shall I greet?");
    if (answer.failure) {
        pp_log(call, PP_WARNING, nullptr, "nobody can be asked: %s", answer.failure->message);
    }
    return answer.action == PP_ACCEPTED ? pp_string(answer.values, "name") : "";
}

void capitalize(std::string &text)
{
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
}

pp_result *hello(pp_call *call, const pp_args *args)
{
    std::string name = pp_has(args, "name") ? pp_string(args, "name") : ask_for_name(call);
    std::string greeting = "Hello, " + (name.empty() ? "whoever you are" : name) + "!";
    if (pp_bool(args, "shout")) {
        capitalize(greeting);
    }
    pp_log(call, PP_INFO, nullptr, "greeting %s", name.empty() ? "somebody" : name.c_str());
    return pp_text("%s", greeting.c_str());
}

} // namespace

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
