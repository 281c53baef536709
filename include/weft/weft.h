/* weft: an inference engine for transformer language models.
 *
 * Simple use: weft_engine_create, weft_model_open, weft_session_create, weft_tokenize,
 * weft_generate. The guide is docs/embedding.md, a whole program docs/examples/generate.c.
 * Each header stands alone; this one includes all of the stable ones, simple to advanced. */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <weft/status.h>
#include <weft/engine.h>
#include <weft/model.h>
#include <weft/tokenizer.h>
#include <weft/chat.h>
#include <weft/sampler.h>
#include <weft/grammar.h>
#include <weft/session.h>
#include <weft/adapter.h>
#include <weft/embed.h>
#include <weft/tensor.h>
#include <weft/ops.h>
#include <weft/files.h>

#endif
