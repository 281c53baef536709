/* The table of pre-tokenisers by the names that GGUF files use (tokenizer.ggml.pre). The patterns
 * are those of the families' published tokenizer.json files. Plain data, included by pretok.c
 * alone. */
#ifndef WEFT_TEXT_PRETOK_NAMES_H
#define WEFT_TEXT_PRETOK_NAMES_H

#include <stdbool.h>

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define LINES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define LLAMA3                                                                                     \
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "                                    \
                 "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" LINES
#define QWEN2                                                                                      \
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" LINES
#define QWEN35                                                                                     \
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}|"                                  \
                 " ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" LINES
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(after)                                                                               \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" after "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER   \
    "*" after
#define SYMBOLS " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" LINES
#define TEKKEN CASED("") "|\\p{N}|" SYMBOLS
#define GPT4O CASED(CONTRACTIONS "?") "|\\p{N}{1,3}|" SYMBOLS
#define YOUTU CASED(CONTRACTIONS "?") "|\\p{N}|" SYMBOLS
/* As gpt-4o's, but Han characters form pieces of their own. */
#define NOT_HAN "(?!\\p{sc:Han})"
#define KIMI                                                                                       \
    "\\p{sc:Han}+|[^\\r\\n\\p{L}\\p{N}]?(?:" NOT_HAN UPPER ")*(?:" NOT_HAN LOWER ")+" CONTRACTIONS \
    "?|[^\\r\\n\\p{L}\\p{N}]?(?:" NOT_HAN UPPER ")+(?:" NOT_HAN LOWER ")*" CONTRACTIONS            \
    "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" LINES
#define BLOOM " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+"
/* Letters of scripts that write two cases, as the deepseek-llm file lists them. */
#define DEEPSEEK_LETTERS                                                                           \
    "\\s?[A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}"            \
    "\\x{1C4}-\\x{293}\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}"         \
    "\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}\\x{3F7}-"         \
    "\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}"             \
    "\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-"       \
    "\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}"        \
    "\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}"         \
    "\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}"        \
    "\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-"       \
    "\\x{1FFC}\\x{2102}\\x{2107}\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}"          \
    "\\x{2126}\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}"         \
    "\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}"         \
    "\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-"        \
    "\\x{A76F}\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}"        \
    "\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}"     \
    "-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-"        \
    "\\x{118DF}\\x{1E900}-\\x{1E943}]+"
#define DEEPSEEK_HAN "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+"
#define DEEPSEEK3_CJK "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+"
#define DEEPSEEK3                                                                                  \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?"           \
    "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" LINES

typedef struct weft_pretok_name {
    const char *names; /* separated by spaces */
    bool nfc, ignore_merges, adds_bos;
    const char *patterns[WEFT_PRETOK_PATTERNS];
} weft_pretok_name;

static const weft_pretok_name weft_pretok_table[] = {
    {"gpt-2 default phi-2 roberta-bpe jina-v1-en jina-v2-code jina-es jina-de jina-v2-es "
     "jina-v2-de "
     "gigachat a.x-4.0 mellum exaone4 jais trillion granite-docling",
     false,
     false,
     false,
     {GPT2}},
    {"olmo mpt gpt-neox modern-bert", true, false, false, {GPT2}},
    {"llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
     false,
     true,
     true,
     {LLAMA3}},
    {"dbrx smaug-bpe chatglm-bpe glm4 glm5", false, false, false, {LLAMA3}},
    {"qwen2 deepseek-r1-qwen kormo f2llmv2 megrez", true, false, false, {QWEN2}},
    {"hunyuan solar-open grok-2", false, false, false, {QWEN2}},
    {"stablelm2", true, false, false, {QWEN2}},
    {"qwen35", true, false, false, {QWEN35}},
    {"starcoder refact codeshell exaone minerva-7b mellum2", false, false, false, {"\\p{N}", GPT2}},
    /* The other way round: a space before a digit is cut from the spaces before it. */
    {"smollm", false, false, false, {GPT2, "\\p{N}"}},
    {"command-r", true, false, false, {"\\p{N}", GPT2}},
    {"tekken", false, true, true, {TEKKEN}},
    {"gpt-4o llama4 kanana2 talkie minimax-m2", false, false, false, {GPT4O}},
    {"granite-embed-multi-97m", false, true, false, {GPT4O}},
    {"tiny_aya cohere2moe", false, false, false, {"\\d{1,3}(?=(?:\\d{3})*\\b)", GPT4O}},
    {"kimi-k2", false, false, false, {KIMI}},
    {"youtu",
     false,
     true,
     false,
     {"[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+|[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}\\x{2018}"
      "\\x{2019}\\x{2014}\\x{FF1A}\\x{FF1B}\\x{FF0C}\\x{3001}-\\x{303F}\\x{FE30}-\\x{FE4F}]+|"
      "[\\x{3105}-\\x{312F}]+|" DEEPSEEK3_CJK,
      YOUTU}},
    {"falcon", false, false, false, {"[\\p{P}$+<=>^`|~]+", GPT2, "[0-9][0-9][0-9]"}},
    {"bloom poro-chat gpt3-finnish", false, false, false, {BLOOM}},
    {"viking", false, false, false, {BLOOM, "\\p{N}"}},
    {"superbpe", false, false, false, {"\\p{N}+", "(?=(\\d{3})+(?!\\d))"}},
    {"bailingmoe bailingmoe2 llada-moe",
     false,
     false,
     false,
     {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|"
      "\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}},
    {"seed-coder",
     false,
     false,
     false,
     {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" LINES}},
    {"exaone-moe",
     false,
     false,
     false,
     {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}|"
                   " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}},
    {"minicpm5",
     false,
     true,
     false,
     {"\\p{N}{1,3}",
      CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}+| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" LINES}},
    {"ufakzeka",
     false,
     false,
     false,
     {"[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" LINES}},
    {"laguna", false, false, false, {"[^\\n]+|[\\n]+", QWEN2}},
    {"deepseek-llm",
     false,
     false,
     false,
     {"[\\r\\n]", DEEPSEEK_LETTERS,
      "\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+",
      "\\s+$", DEEPSEEK_HAN, "\\p{N}+"}},
    {"deepseek-coder",
     false,
     false,
     false,
     {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", DEEPSEEK_HAN, "\\p{N}"}},
    {"deepseek-v3 hunyuan-dense joyai-llm hy_v4",
     false,
     false,
     false,
     {"\\p{N}{1,3}", DEEPSEEK3_CJK, DEEPSEEK3}},
};

#endif
