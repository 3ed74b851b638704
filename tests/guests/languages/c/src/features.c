/* Every feature of the SDK once. The guests of the other languages behave the same, so that one test drives them all.
 */
#include <stdio.h>
#include <time.h>

#include <plugport.h>

static pp_result *log_text(pp_call *call, const pp_args *args)
{
    pp_log(call, PP_INFO, "features", "%s", pp_string(args, "text"));
    return pp_text("logged");
}

static pp_result *print(pp_call *call, const pp_args *args)
{
    (void)call;
    printf("%s\n", pp_string(args, "text"));
    return pp_text("printed");
}

static pp_result *progress(pp_call *call, const pp_args *args)
{
    int64_t steps = pp_integer(args, "steps");
    for (int64_t step = 1; step <= steps; step++) {
        pp_progress(call, (double)step, (double)steps, pp_format("step %lld", (long long)step));
    }
    return pp_text("done");
}

static pp_result *sample(pp_call *call, const pp_args *args)
{
    pp_create_message_request question = {.text = pp_string(args, "question"), .max_tokens = 100};
    pp_create_message_result answer = pp_sample_with(call, &question);
    return answer.failure ? pp_failed(answer.failure) : pp_text("%s", answer.text);
}

static const pp_form one_answer = {.fields = {PP_STRING("answer", "Your answer")}};

static pp_result *elicit(pp_call *call, const pp_args *args)
{
    pp_elicit_result answer = pp_elicit(call, &one_answer, "%s", pp_string(args, "question"));
    switch (answer.action) {
    case PP_ACCEPTED:
        return pp_text("accepted: %s", pp_string(answer.values, "answer"));
    case PP_DECLINED:
        return pp_text("declined");
    case PP_CANCELLED:
        return pp_text("cancelled");
    default:
        return pp_failed(answer.failure);
    }
}

static pp_result *roots(pp_call *call, const pp_args *args)
{
    (void)args;
    pp_roots found = pp_list_roots(call);
    if (found.failure) {
        return pp_failed(found.failure);
    }
    const char *uris = "";
    for (size_t at = 0; at < found.count; at++) {
        uris = pp_format("%s%s%s", uris, at > 0 ? ", " : "", found.items[at].uri);
    }
    return pp_text("%s", uris);
}

static pp_result *structured(pp_call *call, const pp_args *args)
{
    (void)call;
    int64_t a = pp_integer(args, "a"), b = pp_integer(args, "b"), sum, product;
    if (__builtin_add_overflow(a, b, &sum) || __builtin_mul_overflow(a, b, &product)) {
        return pp_error("%lld and %lld are too large; pass smaller numbers", (long long)a, (long long)b);
    }
    pp_doc *doc = pp_object();
    pp_put_integer(doc, "sum", sum);
    pp_put_integer(doc, "product", product);
    return pp_structured(doc);
}

static pp_result *nest(pp_call *call, const pp_args *args)
{
    (void)call;
    int64_t depth = pp_integer(args, "depth");
    pp_doc *doc = pp_object();
    for (int64_t at = 0; at < depth; at++) {
        pp_open_array(doc, at == 0 ? "inner" : NULL);
    }
    return pp_structured(doc);
}

static pp_result *fail(pp_call *call, const pp_args *args)
{
    (void)call;
    return pp_error("%s", pp_string(args, "why"));
}

static pp_result *refuse(pp_call *call, const pp_args *args)
{
    (void)args;
    pp_create_message_result answer = pp_sample(call, "May I?");
    return answer.failure ? pp_failed(answer.failure) : pp_text("%s", answer.text);
}

static pp_result *fetch_text(pp_call *call, const pp_args *args)
{
    (void)call;
    const pp_http_response *response = pp_http_get(pp_string(args, "url"));
    return response->error ? pp_error("%s", response->message) : pp_text("%s", response->body);
}

static pp_result *fetch_all(pp_call *call, const pp_args *args)
{
    (void)call;
    const pp_json *urls = pp_value(args, "urls");
    size_t count = pp_json_count(urls), started = 0;
    pp_http_sent **sent = pp_alloc(count * sizeof *sent);
    for (const pp_json *url = pp_json_at(urls, 0); url; url = pp_json_next(url)) {
        const pp_http_request request = {.url = pp_json_text(url, NULL)};
        sent[started++] = pp_http_start(&request);
    }
    const char *bodies = "";
    for (size_t at = 0; at < count; at++) {
        const pp_http_response *response = pp_http_receive(sent[at]);
        if (response->error) {
            return pp_error("%s", response->message);
        }
        bodies = pp_format("%s%s%s", bodies, at > 0 ? "\n" : "", response->body);
    }
    return pp_text("%s", bodies);
}

static pp_result *count_visits(pp_call *call, const pp_args *args)
{
    (void)call;
    pp_kv_number visits = pp_kv_increment(pp_string(args, "name"), 1);
    return visits.failure ? pp_failed(visits.failure) : pp_text("%lld", (long long)visits.number);
}

/* How many characters a text has, each of which begins with a byte that does not continue another. */
static int length_of(const char *text)
{
    int length = 0;
    for (; *text; text++) {
        length += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return length;
}

/* Logs the secret, which the client must not see. */
static pp_result *greet_configured(pp_call *call, const pp_args *args)
{
    (void)args;
    pp_setting greeting = pp_config_require("greeting"), token = pp_config_require("token");
    if (greeting.failure || token.failure) {
        return pp_failed(greeting.failure ? greeting.failure : token.failure);
    }
    pp_log(call, PP_INFO, NULL, "%s", token.value);
    return pp_text("%s %d", greeting.value, length_of(token.value));
}

static pp_result *detach(pp_call *call, const pp_args *args)
{
    return pp_text("%s", pp_detach(call, pp_string(args, "status")) ? "true" : "false");
}

static pp_result *extensions(pp_call *call, const pp_args *args)
{
    (void)args;
    pp_client client = pp_client_of(call);
    const char *names = "";
    for (size_t at = 0; at < client.extension_count; at++) {
        names = pp_format("%s%s%s", names, at > 0 ? ", " : "", client.extensions[at]);
    }
    return pp_text("%s", names);
}

static pp_result *sleep_for(pp_call *call, const pp_args *args)
{
    (void)call;
    int64_t ms = pp_integer(args, "ms");
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
    return pp_text("rested");
}

PP_TOOLS(
    {.name = "log", .description = "Log a text.", .call = log_text, .params = {PP_STRING("text", "What to log.")}},
    {.name = "print", .description = "Print a text.", .call = print, .params = {PP_STRING("text", "What to print.")}},
    {
        .name = "progress",
        .description = "Report progress in steps.",
        .call = progress,
        .params = {PP_INTEGER_IN("steps", 0, 1000, "How many steps.")},
    },
    {
        .name = "sample",
        .description = "Ask the client's model.",
        .call = sample,
        .params = {PP_STRING("question", "What to ask.")},
    },
    {
        .name = "elicit",
        .description = "Ask the person.",
        .call = elicit,
        .params = {PP_STRING("question", "What to ask.")},
    },
    {.name = "roots", .description = "List the client's roots.", .call = roots},
    {
        .name = "structured",
        .description = "Add and multiply two numbers.",
        .call = structured,
        .hints = PP_READ_ONLY | PP_IDEMPOTENT,
        .params = {PP_INTEGER("a", "One number."), PP_INTEGER("b", "The other.")},
        .returns = {PP_INTEGER("sum", "a + b"), PP_INTEGER("product", "a * b")},
    },
    {
        .name = "nest",
        .description = "Answer with lists in lists.",
        .call = nest,
        .params = {PP_INTEGER_IN("depth", 0, 100000, "How deep.")},
    },
    {.name = "fail", .description = "Fail.", .call = fail, .params = {PP_STRING("why", "What to say.")}},
    {.name = "refuse", .description = "Ask the model without leave, and say what the host says.", .call = refuse},
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
        .params = {PP_JSON("urls", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", "Where they are.")},
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

static pp_result *greeting(pp_call *call, const pp_args *args)
{
    (void)call, (void)args;
    return pp_text("Hello from C");
}

static pp_result *echo(pp_call *call, const pp_args *words)
{
    (void)call;
    return pp_text("%s", pp_string(words, "word"));
}

PP_RESOURCES(
    {
        .uri = "features://greeting",
        .name = "greeting",
        .description = "A greeting.",
        .mime_type = "text/plain",
        .read = greeting,
    },
    {
        .uri = "features://echo/{word}",
        .name = "echo",
        .description = "The word itself.",
        .mime_type = "text/plain",
        .read = echo,
    });

static pp_result *greet(pp_call *call, const pp_args *args)
{
    (void)call;
    return pp_text("Greet %s warmly.", pp_string(args, "name"));
}

PP_PROMPTS({
    .name = "greet",
    .description = "Ask for a greeting.",
    .get = greet,
    .params = {PP_STRING("name", "Whom to greet.")},
});

PP_COMPLETIONS({.prompt = "greet", .argument = "name", .choices = "Ada|Alan|Grace"});
