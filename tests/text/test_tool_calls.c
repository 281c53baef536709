/* Generated text back into content, reasoning and tool calls: every family, in one piece and byte
 * by byte, with the same result; and that what is no call is content. */
#include "text/engine_fixture.h"

/* What came out, as text: content, <reasoning> and {calls} in their order. */
typedef struct record {
    char text[8192];
    size_t n;
    weft_chat_part last;
    bool any;
} record;

static void add(record *r, const char *text, size_t n) {
    assert_true(r->n + n < sizeof r->text);
    memcpy(r->text + r->n, text, n);
    r->n += n;
    r->text[r->n] = 0;
}

static void on_delta(void *ctx, const weft_chat_delta *d) {
    record *r = ctx;
    if (r->any && r->last == WEFT_CHAT_REASONING && d->part != WEFT_CHAT_REASONING)
        add(r, ">", 1);
    if (d->part == WEFT_CHAT_REASONING && (!r->any || r->last != WEFT_CHAT_REASONING))
        add(r, "<", 1);
    if (d->part == WEFT_CHAT_TOOL_CALL) {
        char head[16];
        snprintf(head, sizeof head, "{%zu ", d->call_index);
        add(r, head, strlen(head));
        add(r, d->name, d->name_bytes);
        if (d->id) {
            add(r, " #", 2);
            add(r, d->id, d->id_bytes);
        }
        add(r, " ", 1);
    }
    add(r, d->text, d->n_bytes);
    if (d->part == WEFT_CHAT_TOOL_CALL)
        add(r, "}", 1);
    r->last = d->part;
    r->any = true;
}

static void parse(const weft_chat_template *t, const char *prompt, const char *tools,
                  const char *text, size_t step, record *r) {
    weft_chat_parser *p;
    weft_chat_parser_options options = {.prompt = prompt,
                                        .prompt_bytes = prompt ? strlen(prompt) : 0,
                                        .tool_calls = true,
                                        .tools = tools};
    memset(r, 0, sizeof *r);
    assert_weft_ok(weft_chat_parser_create(t, &options, on_delta, r, &p));
    size_t n = strlen(text);
    for (size_t at = 0; at < n; at += step)
        assert_weft_ok(weft_chat_parser_feed(p, text + at, n - at < step ? n - at : step));
    assert_weft_ok(weft_chat_parser_finish(p));
    if (r->any && r->last == WEFT_CHAT_REASONING)
        add(r, ">", 1);
    weft_chat_parser_destroy(&p);
}

static weft_chat_template *with_signs(const char *signs) {
    weft_chat_template *t;
    assert_weft_ok(weft_chat_template_create(engine, signs, strlen(signs), &t));
    return t;
}

static void expect(const char *signs, const char *format, const char *prompt, const char *tools,
                   const char *text, const char *want) {
    weft_chat_template *t = with_signs(signs);
    static record r;
    assert_string_equal(weft_chat_template_format(t), format);
    const size_t steps[] = {SIZE_MAX / 2, 1, 2, 3, 7};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        parse(t, prompt, tools, text, steps[i], &r);
        if (strcmp(r.text, want) != 0)
            fail_msg("%s by %zu bytes:\n%s\ngives\n%s\ninstead of\n%s", format, steps[i], text,
                     r.text, want);
    }
    weft_chat_template_release(&t);
}

#define OSLO "{\"city\": \"Oslo\"}"
#define LIMA "{\"query\": \"Lima \\\"climate\\\" <avg>\", \"exact\": false}"

typedef struct family {
    const char *signs, *format, *prompt, *text, *want;
} family;

static const family families[] = {
    {"<tool_call>", "hermes", NULL,
     "Let me check.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": " OSLO
     "}\n</tool_call>\n<tool_call>\n{\"name\": \"search\", \"arguments\": " LIMA
     "}\n</tool_call>\n",
     "Let me check.{0 weather " OSLO "}{1 search " LIMA "}"},
    {"<tool_call>", "hermes", "…<|im_start|>assistant\n<think>\n",
     "I need\nboth.\n</think>\n\n<tool_call>\n{\"name\": \"weather\", \"arguments\": " OSLO
     "}\n</tool_call>",
     "<I need\nboth.>{0 weather " OSLO "}"},
    {"<tool_call>", "hermes", "<|im_start|>assistant\n",
     "<think>\nHm.\n</think>\n\nThe answer is 4 < 5.\n", "<Hm.>The answer is 4 < 5.\n"},
    {"<tool_call> <function=", "hermes", NULL,
     "Let me.\n\n<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n"
     "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=write>\n"
     "<parameter=text>\n  a\nb \"q\"\n\n</parameter>\n<parameter=on>\nTrue\n</parameter>\n"
     "<parameter=tags>\n[\"x\", 1]\n</parameter>\n</function>\n</tool_call>",
     "Let me.{0 weather {\"city\": \"Oslo\", \"days\": 3}}"
     "{1 write {\"text\": \"  a\\nb \\\"q\\\"\\n\", \"on\": true, \"tags\": [\"x\", 1]}}"},
    {"<tool_call> <arg_key>", "hermes", NULL,
     "\n<think>Hm</think>\nOk.\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo"
     "</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>"
     "<tool_call>now</tool_call>",
     "<Hm>Ok.{0 weather {\"city\": \"Oslo\", \"days\": 2}}{1 now {}}"},
    {"<|start_header_id|> ipython", "llama3", NULL,
     "{\"name\": \"weather\", \"parameters\": " OSLO "}", "{0 weather " OSLO "}"},
    {"<|start_header_id|> ipython", "llama3", NULL,
     "<|python_tag|>{\"type\": \"function\", \"name\": \"weather\", \"parameters\": " OSLO
     "}; {\"name\": \"search\", \"parameters\": " LIMA "}",
     "{0 weather " OSLO "}{1 search " LIMA "}"},
    {"[TOOL_CALLS]", "mistral", NULL,
     "[TOOL_CALLS] [{\"name\": \"weather\", \"arguments\": " OSLO
     ", \"id\": \"abc123def\"}, {\"name\": \"search\", \"arguments\": " LIMA "}]",
     "{0 weather #abc123def " OSLO "}{1 search " LIMA "}"},
    {"[TOOL_CALLS]", "mistral", NULL,
     "[THINK]Hm.[/THINK]Sure.[TOOL_CALLS]weather[ARGS]" OSLO
     "[TOOL_CALLS]search[CALL_ID]x1[ARGS]" LIMA,
     "<Hm.>Sure.{0 weather " OSLO "}{1 search #x1 " LIMA "}"},
    {"<｜tool▁calls▁begin｜>", "deepseek", "<｜Assistant｜><think>\n",
     "Hm.\n</"
     "think>\n\nOk.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n"
     "```json\n" OSLO
     "\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n"
     "```json\n" LIMA "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
     "<Hm.>Ok.{0 weather " OSLO "}{1 search " LIMA "}"},
    {"<｜tool▁calls▁begin｜>", "deepseek", "<｜Assistant｜></think>",
     "Ok.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>" OSLO
     "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
     "Ok.{0 weather " OSLO "}"},
    {"｜DSML｜ tool_calls", "deepseek-dsml", NULL,
     "Ok.\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"search\">\n<｜DSML｜parameter "
     "name=\"query\" string=\"true\">12</｜DSML｜parameter>\n<｜DSML｜parameter name=\"n\" "
     "string=\"false\">12</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
     "Ok.{0 search {\"query\": \"12\", \"n\": 12}}"},
    {"<|channel|> <|message|>", "harmony", "…<|start|>assistant",
     "<|channel|>analysis<|message|>I need it.<|end|><|start|>assistant<|channel|>commentary "
     "to=functions.weather <|constrain|>json<|message|>" OSLO "<|call|>",
     "<I need it.>{0 weather " OSLO "}"},
    {"<|channel|> <|message|>", "harmony", "…<|start|>assistant",
     " to=functions.weather<|channel|>commentary json<|message|>" OSLO, "{0 weather " OSLO "}"},
    {"<|channel|> <|message|>", "harmony", "…<|start|>assistant",
     "<|channel|>analysis<|message|>Hm.\n<|end|><|start|>assistant<|channel|>final<|message|>"
     "It is 4 <| 5.<|return|>",
     "<Hm.\n>It is 4 <| 5."},
    {"<|tool_call_begin|>", "kimi-k2", NULL,
     "Ok.<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0"
     "<|tool_call_argument_begin|>" OSLO "<|tool_call_end|><|tool_call_begin|>functions.search:1"
     "<|tool_call_argument_begin|>" LIMA "<|tool_call_end|><|tool_calls_section_end|>",
     "Ok.{0 weather #functions.weather:0 " OSLO "}{1 search #functions.search:1 " LIMA "}"},
    {"<|tool_call> <tool_call|>", "gemma4", "<|turn>model\n",
     "<|channel>thought\nHm.\n<channel|><|tool_call>call:weather{city:<|\"|>Os\"lo<|\"|>,days:3,"
     "o:{l:[1,<|\"|>a,b<|\"|>,true]}}<tool_call|><|tool_call>call:now{}<tool_call|>",
     "<Hm.>{0 weather {\"city\": \"Os\\\"lo\", \"days\": 3, \"o\": {\"l\": [1, \"a,b\", true]}}}"
     "{1 now {}}"},
    {"<|START_ACTION|>", "command", "<|START_THINKING|>",
     "I need it.<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": "
     "\"weather\", \"parameters\": " OSLO "},\n    {\"tool_call_id\": \"1\", \"tool_name\": "
     "\"search\", \"parameters\": " LIMA "}\n]<|END_ACTION|>",
     "<I need it.>{0 weather #0 " OSLO "}{1 search #1 " LIMA "}"},
    {"<|START_ACTION|>", "command", NULL,
     "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Rome.<|END_RESPONSE|>", "<Hm.>Rome."},
    {"<|START_ACTION|>", "command", "<|START_THINKING|>",
     "<|START_ACTION|>[{\"tool_name\": \"weather\", \"parameters\": " OSLO "}]<|END_ACTION|>",
     "{0 weather " OSLO "}"},
    {"Action: tool_name", "command-r", NULL,
     "Action:\n```json\n[\n    {\n        \"tool_name\": \"weather\",\n        "
     "\"parameters\": " OSLO "\n    }\n]```\n",
     "{0 weather " OSLO "}"},
    {"<|start_of_role|> <|tool_call|>", "granite", NULL,
     "<think>Hm.</think><response>Ok.</response>", "<Hm.>Ok."},
    {"<|start_of_role|> <|tool_call|>", "granite", NULL,
     "<|tool_call|>[{\"name\": \"weather\", \"arguments\": " OSLO "}]", "{0 weather " OSLO "}"},
    {"<minimax:tool_call>", "minimax", NULL,
     "Ok.\n<minimax:tool_call>\n<invoke name=\"weather\">\n<parameter name=\"city\">Oslo"
     "</parameter>\n</invoke>\n<invoke name=\"now\">\n</invoke>\n</minimax:tool_call>",
     "Ok.{0 weather {\"city\": \"Oslo\"}}{1 now {}}"},
    {"<seed:tool_call>", "seed", NULL,
     "<seed:think>Hm.</seed:think>\n<seed:tool_call>\n<function=weather>\n<parameter=city>Oslo"
     "</parameter>\n</function>\n</seed:tool_call>",
     "<Hm.>{0 weather {\"city\": \"Oslo\"}}"},
    {"<function=", "functionary", NULL, "<function=weather>" OSLO "</function>",
     "{0 weather " OSLO "}"},
    {"List of tools: <|im_start|>", "lfm2", NULL,
     "<think>Hm.</think>Ok.<|tool_call_start|>[weather(city='Os\"lo', days=3), "
     "note(text=\"it's\\n\", on=True, none=None, l=['a', (1, 2.5), {'k': False}], "
     "o={\"a\": [true]}), now()]<|tool_call_end|>",
     "<Hm.>Ok.{0 weather {\"city\": \"Os\\\"lo\", \"days\": 3}}{1 note {\"text\": \"it's\\n\", "
     "\"on\": true, \"none\": null, \"l\": [\"a\", [1, 2.5], {\"k\": false}], \"o\": {\"a\": "
     "[true]}}}{2 now {}}"},
    {"List of tools: <|im_start|>", "lfm2", NULL,
     "<|tool_call_start|>[say(text='it's his, isn't it', path='C:\\dir')]<|tool_call_end|>",
     "{0 say {\"text\": \"it's his, isn't it\", \"path\": \"C:\\\\dir\"}}"},
    {"List of tools: <|im_start|>", "lfm2", NULL,
     "<|tool_call_start|>[{\"name\": \"weather\", \"arguments\": " OSLO "}]<|tool_call_end|>",
     "{0 weather " OSLO "}"},
    {"':opensource' <tool_sep{}>", "hunyuan", NULL,
     "<think:opensource>Hm.</think:opensource>Ok.<tool_calls:opensource>\n<tool_call:opensource>"
     "weather<tool_sep:opensource>\n<arg_key:opensource>city</arg_key:opensource>\n"
     "<arg_value:opensource>Oslo\n</arg_value:opensource>\n<arg_key:opensource>days"
     "</arg_key:opensource>\n<arg_value:opensource>3</arg_value:opensource>\n"
     "</tool_call:opensource>\n<tool_call:opensource>now<tool_sep:opensource>\n"
     "</tool_call:opensource>\n</tool_calls:opensource>",
     "<Hm.>Ok.{0 weather {\"city\": \"Oslo\\n\", \"days\": 3}}{1 now {}}"},
    {"<|open|> <|close|>", "kimi-k3",
     "<|open|>message role=\"assistant\"<|sep|><|open|>think<|sep|>",
     "Hm.<|close|>think<|sep|><|open|>response<|sep|>Ok.<|close|>response<|sep|>"
     "<|open|>tools<|sep|><|open|>call tool=\"weather\" index=\"1\"<|sep|>"
     "<|open|>argument key=\"zip\" type=\"string\"<|sep|>12<|close|>argument<|sep|>"
     "<|open|>argument key=\"days\" type=\"number\"<|sep|>3<|close|>argument<|sep|>"
     "<|close|>call<|sep|><|open|>call tool=\"search\" index=\"2\"<|sep|>"
     "<|open|>json type=\"object\"<|sep|>" LIMA "<|close|>json<|sep|><|close|>call<|sep|>"
     "<|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>",
     "<Hm.>Ok.{0 weather {\"zip\": \"12\", \"days\": 3}}{1 search " LIMA "}"},
    {"{{ 1 }}", "plain", NULL, "<tool_call>{\"name\": \"a\"}</tool_call>",
     "<tool_call>{\"name\": \"a\"}</tool_call>"},
};

static void every_family(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        expect(families[i].signs, families[i].format, families[i].prompt, NULL, families[i].text,
               families[i].want);
}

/* What begins like a call but is none is content, and nothing of it is lost. */
static void what_is_no_call_is_content(void **state) {
    (void)state;
    static const char *const hermes[] = {
        "<tool_call>{\"name\": }</tool_call> and more",
        "Write <tool_call> in your text, or <tool_call>, or <tool_cal",
        "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}",
        "<tool_call>[]</tool_call>",
        "<tool_call>{\"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>",
        "<tool_call><function=f><parameter=a>1</function></tool_call>x",
        "<tool_call>",
        "a < b and c <t",
        "if (a <tool) {}",
    };
    for (size_t i = 0; i < sizeof hermes / sizeof hermes[0]; i++)
        expect("<tool_call>", "hermes", NULL, NULL, hermes[i], hermes[i]);
    static const char *const llama[] = {
        "{\"answer\": 4}",
        "{\"name\": \"x\"}",
        "{\"name\": \"x\", \"parameters\": 3} is it",
        "{",
        "{\"name\": \"a\", ",
        "I say {\"name\": \"f\", \"parameters\": {}}",
        "<|python_tag|>print(1)",
        "{\"a\": 1, \"name\": \"f\", \"parameters\": {}}",
        "```{\"nam<think>, \"arguments\": {}}",
        "a <think>b</think>",
    };
    for (size_t i = 0; i < sizeof llama / sizeof llama[0]; i++)
        expect("<|start_header_id|> ipython", "llama3", NULL, NULL, llama[i], llama[i]);
    static const char *const mistral[] = {
        "[TOOL_CALLS]",        "[TOOL_CALLS] [{\"name\": 1}]", "[TOOL_CALLS]f[ARGS]{\"a\" 1}",
        "[TOOL_CALLS]f[ARGS]", "[TOOL_CALLS]a\nb[ARGS]{}",     "[TOOL"};
    for (size_t i = 0; i < sizeof mistral / sizeof mistral[0]; i++)
        expect("[TOOL_CALLS]", "mistral", NULL, NULL, mistral[i], mistral[i]);
    static const char *const lfm2[] = {"<|tool_call_start|>[]<|tool_call_end|>",
                                       "<|tool_call_start|>[f(a=x)]<|tool_call_end|>",
                                       "<|tool_call_start|>[f(a='x]<|tool_call_end|>",
                                       "<|tool_call_start|>[f(3)]<|tool_call_end|>",
                                       "<|tool_call_start|>[f()] g<|tool_call_end|>",
                                       "<|tool_call_start|>f()<|tool_call_end|>"};
    for (size_t i = 0; i < sizeof lfm2 / sizeof lfm2[0]; i++)
        expect("List of tools: <|im_start|>", "lfm2", NULL, NULL, lfm2[i], lfm2[i]);
    static const char *const harmony[] = {
        "Plain text.", "<|channel|>final", "<|start|>assistant to=functions.f<|message|>no JSON",
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"a\": "};
    for (size_t i = 0; i < sizeof harmony / sizeof harmony[0]; i++)
        expect("<|channel|> <|message|>", "harmony", NULL, NULL, harmony[i], harmony[i]);
    /* A call after one that is none. */
    expect("<tool_call>", "hermes", NULL, NULL,
           "<tool_call>no\n<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>",
           "<tool_call>no{0 f {}}");
    expect("<tool_call>", "hermes", NULL, NULL,
           "<tool_call>no call\n<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>",
           "<tool_call>no call{0 f {}}");
}

/* Schemas say what a text is that looks like a number; arguments may be JSON in a string. */
static void values_have_their_types(void **state) {
    (void)state;
    static const char tools[] =
        "[{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"type\": "
        "\"object\", \"properties\": {\"zip\": {\"type\": \"string\"}, \"n\": {\"type\": "
        "\"integer\"}}}}}]";
    expect("<tool_call>", "hermes", NULL, tools,
           "<tool_call>\n<function=f>\n<parameter=zip>\n01234\n</parameter>\n<parameter=n>\n5\n"
           "</parameter>\n<parameter=x>\n007\n</parameter>\n</function>\n</tool_call>",
           "{0 f {\"zip\": \"01234\", \"n\": 5, \"x\": \"007\"}}");
    expect("<tool_call>", "hermes", NULL, NULL,
           "<tool_call>{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": \\\"\\\\u00e9\\\"}\"}"
           "</tool_call>",
           "{0 f {\"a\": \"\\u00e9\"}}");
    expect("<tool_call>", "hermes", NULL, NULL,
           "<tool_call>{\"name\": \"f\"}{\"name\": \"g\", \"arguments\": null}</tool_call>",
           "{0 f {}}{1 g {}}");
    weft_chat_template *t = with_signs("x");
    weft_chat_parser *p;
    weft_chat_parser_options options = {.tools = "[1"};
    assert_weft_fails(weft_chat_parser_create(t, &options, on_delta, NULL, &p), WEFT_E_FORMAT);
    weft_chat_template_release(&t);
}

/* Content is handed out at once but for what may be a mark. */
static void content_is_not_held_back(void **state) {
    (void)state;
    weft_chat_template *t = with_signs("<tool_call>");
    weft_chat_parser *p;
    weft_chat_parser_options options = {.tool_calls = true};
    static record r;
    memset(&r, 0, sizeof r);
    assert_weft_ok(weft_chat_parser_create(t, &options, on_delta, &r, &p));
    static const struct {
        const char *piece, *out;
    } steps[] = {{"Hello", "Hello"},
                 {" wor", "Hello wor"},
                 {"ld <", "Hello world"},
                 {"tool", "Hello world"},
                 {"box>", "Hello world <toolbox>"}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        assert_weft_ok(weft_chat_parser_feed(p, steps[i].piece, strlen(steps[i].piece)));
        assert_string_equal(r.text, steps[i].out);
    }
    assert_weft_ok(weft_chat_parser_finish(p));
    weft_chat_parser_destroy(&p);
    weft_chat_template_release(&t);
}

static void calls_are_off_by_default(void **state) {
    (void)state;
    weft_chat_template *t = with_signs("<tool_call>");
    weft_chat_parser *p;
    static record r;
    memset(&r, 0, sizeof r);
    static const char text[] = "<think>a</think><tool_call>{\"name\": \"f\"}</tool_call>";
    assert_weft_ok(weft_chat_parser_create(t, NULL, on_delta, &r, &p));
    assert_weft_ok(weft_chat_parser_feed(p, text, strlen(text)));
    assert_weft_ok(weft_chat_parser_finish(p));
    assert_string_equal(r.text, "<a><tool_call>{\"name\": \"f\"}</tool_call>");
    weft_chat_parser_destroy(&p);
    weft_chat_template_release(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family),
        cmocka_unit_test(what_is_no_call_is_content),
        cmocka_unit_test(values_have_their_types),
        cmocka_unit_test(content_is_not_held_back),
        cmocka_unit_test(calls_are_off_by_default),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
