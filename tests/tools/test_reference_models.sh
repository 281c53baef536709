#!/bin/bash
# The command against the reference data: logits and greedy texts of small models of each
# architecture from both kinds of files, and tokenisers; and with a third argument, the divergence
# and greedy texts of the two real models, which must have been fetched.
# Usage: test_reference_models.sh WEFT SHARED [real]
measure=$2/measure.py
if [ ! -f "$measure" ] || ! command -v python3 >/dev/null; then
    echo "skipped: no $measure, or no python3"
    exit 77
fi
status=0
python3 "$measure" --weft "$1" reference || status=1
python3 "$measure" --weft "$1" tokenizers \
    --vocabs gpt-2,llama-bpe,llama-spm,phi-3,gemma-4 || status=1
if [ "${3:-}" = real ]; then
    python3 "$measure" --weft "$1" real || status=1
fi
exit $status
