/* The one translation unit that holds the bodies of both single-header parsers. */
#define WEFT_GGUF_IMPLEMENTATION
#include "loader/gguf.h"
#define WEFT_SAFETENSORS_IMPLEMENTATION
#include "loader/safetensors.h"
