// Every interface of the host once. The guests of the other languages behave the same, so that one test drives them
// all; the features of MCP are those of the SDK for C, whose guest has them.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <time.h>

#include <plugport.h>

namespace
{

pp_result *text(const std::string &content)
{
    return pp_text("%s", content.c_str());
}

pp_result *error(const pp_http_response &response)
{
    return pp_error("%s", response.message);
}

pp_result *fetch_text(pp_call *, const pp_args *args)
{
    const pp_http_response *response = pp_http_get(pp_string(args, "url"));
    return response->error ? error(*response) : pp_text("%s", response->body);
}

// Sends all requests before it waits for the first response.
std::vector<pp_http_sent *> send_all(const pp_json *urls)
{
    std::vector<pp_http_sent *> sent;
    for (const pp_json *url = pp_json_at(urls, 0); url; url = pp_json_next(url)) {
        const pp_http_request request = {.url = pp_json_text(url, nullptr)};
        sent.push_back(pp_http_start(&request));
    }
    return sent;
}

pp_result *fetch_all(pp_call *, const pp_args *args)
{
    std::string bodies;
    for (pp_http_sent *sent : send_all(pp_value(args, "urls"))) {
        const pp_http_response *response = pp_http_receive(sent);
        if (response->error) {
            return error(*response);
        }
        bodies += (bodies.empty() ? "" : "\n") + std::string(response->body, response->size);
    }
    return text(bodies);
}

pp_result *count_visits(pp_call *, const pp_args *args)
{
    const pp_kv_number visits = pp_kv_increment(pp_string(args, "name"), 1);
    return visits.failure ? pp_failed(visits.failure) : text(std::to_string(visits.number));
}

// How many characters a text has, each of which begins with a byte that does not continue another.
auto length_of(std::string_view text)
{
    return std::ranges::count_if(text, [](unsigned char byte) { return (byte & 0xC0) != 0x80; });
}

// Logs the secret, which the client must not see.
pp_result *greet_configured(pp_call *call, const pp_args *)
{
    const pp_setting greeting = pp_config_require("greeting"), token = pp_config_require("token");
    if (greeting.failure || token.failure) {
        return pp_failed(greeting.failure ? greeting.failure : token.failure);
    }
    pp_log(call, PP_INFO, nullptr, "%s", token.value);
    return text(greeting.value + (" " + std::to_string(length_of(token.value))));
}

pp_result *detach(pp_call *call, const pp_args *args)
{
    return text(pp_detach(call, pp_string(args, "status")) ? "true" : "false");
}

pp_result *extensions(pp_call *call, const pp_args *)
{
    const pp_client client = pp_client_of(call);
    std::string names;
    for (const char *name : std::span(client.extensions, client.extension_count)) {
        names += (names.empty() ? "" : ", ") + std::string(name);
    }
    return text(names);
}

pp_result *sleep_for(pp_call *, const pp_args *args)
{
    const int64_t ms = pp_integer(args, "ms");
    const timespec time = {.tv_sec = ms / 1000, .tv_nsec = static_cast<long>(ms % 1000 * 1000000)};
    nanosleep(&time, nullptr);
    return text("rested");
}

} // namespace

PP_TOOLS(
    {
        .name = "fetch-text",
        .description = "Fetch a text.",
        .call = fetch_text,
        .params = {PP_STRING("url", "Where it is.")},
    },
    {
        .name = "fetch-all",
        .description = "Fetch several texts at once.",
        .call = fetch_all,
        .params = {PP_JSON("urls", R"({"type":"array","items":{"type":"string"}})", "Where they are.")},
    },
    {
        .name = "count-visits",
        .description = "Count the visits of someone.",
        .call = count_visits,
        .params = {PP_STRING("name", "Who visits.")},
    },
    {
        .name = "greet-configured",
        .description = "Say the greeting of the settings, and how long the secret is.",
        .call = greet_configured,
    },
    {
        .name = "detach",
        .description = "Let the client go on without waiting, and say whether it does.",
        .call = detach,
        .params = {PP_STRING("status", "What to tell people meanwhile.")},
    },
    {.name = "extensions", .description = "Say which extensions the client declared.", .call = extensions},
    {
        .name = "sleep",
        .description = "Sleep.",
        .call = sleep_for,
        .params = {PP_INTEGER_IN("ms", 0, 60000, "How many milliseconds.")},
    });
