/* The formats in which models call tools, and reading one call's text. The streaming parser
 * (tool_calls.c) finds where a call begins and ends, the functions here say what it is. */
#ifndef WEFT_TEXT_TOOL_CALLS_H
#define WEFT_TEXT_TOOL_CALLS_H

#include "base/json.h"
#include "text/json_text.h"

/* Calls that were read, and the bytes they consist of. */
typedef struct weft_call {
    size_t name, n_name, args, n_args, id, n_id; /* offsets and lengths in `text` */
} weft_call;
typedef struct weft_calls {
    weft_bytes text;
    weft_bytes list;        /* of weft_call */
    const weft_json *tools; /* schemas, or NULL */
    bool no_memory;
} weft_calls;

static inline size_t weft_calls_count(const weft_calls *c) {
    return c->list.n / sizeof(weft_call);
}
void weft_calls_clear(weft_calls *c);

/* How a family marks calls and reasoning. */
typedef struct weft_chat_syntax {
    const char *name;
    const char *signs[2]; /* all of them are in the template's source */
    const char *think[2]; /* around reasoning; NULL: <think>, </think> */
    const char *open;     /* begins a call, or several; NULL: no calls */
    const char *close;    /* ends it; NULL: it ends with its JSON */
    /* Reads what stands between; NULL: it is JSON. */
    bool (*read)(weft_calls *calls, weft_slice body);
    bool json;         /* it may be JSON, which then is read instead */
    bool named;        /* it may be name[ARGS]{…} */
    bool bare;         /* a JSON object at the beginning of the answer is a call, without `open` */
    const char *fence; /* may stand before and, its first three bytes, after the JSON */
    const char *dropped[4]; /* marks that are left out */
} weft_chat_syntax;

/* The family of a template; never NULL. */
const weft_chat_syntax *weft_chat_syntax_of(const char *source, size_t n_bytes);
/* gpt-oss: not calls inside of a text, but messages with headers. */
bool weft_chat_syntax_is_harmony(const weft_chat_syntax *syntax);

/* ---- Reading; false: it is no call ---- */

/* `args` is whole JSON, an object, null or a string that holds an object. */
bool weft_calls_add(weft_calls *c, weft_slice name, weft_slice args, weft_slice id);
/* An object with name and arguments, under the names in use, or an array of them; with `strict`
 * both must be there. */
bool weft_calls_read_json(weft_calls *c, weft_slice value, bool strict);
/* <function=name><parameter=key>value</parameter></function>, or
 * name<arg_key>key</arg_key><arg_value>value</arg_value> */
bool weft_calls_read_tags(weft_calls *c, weft_slice body);
/* <invoke name="…"><parameter name="…">value</parameter></invoke> */
bool weft_calls_read_invokes(weft_calls *c, weft_slice body);
/* The same, spelled <｜DSML｜invoke … string="true">. */
bool weft_calls_read_dsml(weft_calls *c, weft_slice body);
/* name>{…}, behind <function= */
bool weft_calls_read_function(weft_calls *c, weft_slice body);
/* type<｜tool▁sep｜>name, then a code block; or name<｜tool▁sep｜>{…} */
bool weft_calls_read_deepseek(weft_calls *c, weft_slice body);
/* functions.name:0<|tool_call_argument_begin|>{…} */
bool weft_calls_read_kimi(weft_calls *c, weft_slice body);
/* [name(key='text', other=3), …] */
bool weft_calls_read_python(weft_calls *c, weft_slice body);
/* <tool_call:…>name<tool_sep:…>, then pairs of <arg_key:…> and <arg_value:…> */
bool weft_calls_read_hunyuan(weft_calls *c, weft_slice body);
/* <|open|>call tool="name" …<|sep|>, then arguments spelled so, or one block of JSON */
bool weft_calls_read_kimi_tags(weft_calls *c, weft_slice body);
/* call:name{key:<|"|>text<|"|>,other:[1,2]} */
bool weft_calls_read_gemma(weft_calls *c, weft_slice body);

/* ---- Slices ---- */

weft_slice weft_slice_of(const char *text);
weft_slice weft_slice_trim(weft_slice s); /* blanks of ASCII */
bool weft_slice_begins(weft_slice s, const char *text);
/* The offset of `text` from `from` on; SIZE_MAX: none. */
size_t weft_slice_find(weft_slice s, const char *text, size_t from);
static inline bool weft_is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

#endif
