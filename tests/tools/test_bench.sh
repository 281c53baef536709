#!/bin/bash
# weft bench: every format is what it says, options are checked, and what belongs together is there.
. "$(dirname "$0")/lib.sh"
python=$(command -v python3) || { echo "skipped: no python3"; exit 0; }
tiny m
small="--shape llama-test -p 16,32 -n 4 --depth 0,40 --batch 2 -r 2 -t 2"

# parses WHAT CODE: python's CODE holds, with `text` what the last call printed.
parses() {
    "$python" -c "
import csv, io, json, sys
import xml.etree.ElementTree as xml
text = open(sys.argv[1], encoding='utf-8').read()
$2" "$work/out" || fail "$1: $(head -c 300 "$work/out")"
}

# shellcheck disable=SC2086
{
    call 0 bench $small --format json
    parses json "
o = json.loads(text)
assert o['model'] == 'llama-test q4_0' and o['threads'] == 2 and o['cpu']
assert o['n_prompt'] == 16 and o['n_decode'] == 4 and o['runs'] == 2
for key in ('prefill_tps', 'decode_tps'):
    assert 0 < o[key]['min'] <= o[key]['median'] <= o[key]['max']
assert 0 < o['load_s'] < o['first_token_s'] <= o['packed_s']
assert o['ttft_s'] > 0 and o['rss_bytes'] > 1e6
assert o['limits']['read_all'] > 0 and o['limits']['int8_one'] > 0
points = [(p['test'], p['n'], p['depth']) for p in o['points']]
assert points == [('prefill', 16, 0), ('prefill', 32, 0), ('decode', 4, 0), ('decode', 4, 40),
                  ('batch', 2, 0)], points
for p in o['points']:
    assert p['of_read'] > 0 and p['of_compute'] > 0 and p['bytes_per_token'] > 0
deep, flat = o['points'][3], o['points'][2]
assert deep['bytes_per_token'] - flat['bytes_per_token'] == 40 * 1024"
    call 0 bench $small --format csv --no-limits
    parses csv "
rows = list(csv.DictReader(io.StringIO(text)))
assert len(rows) == 5 and rows[4]['test'] == 'batch' and float(rows[0]['tps_median']) > 0
assert rows[0]['of_read'] == '' and None not in rows[0]"
    call 0 bench $small --format markdown --no-limits
    parses markdown "
lines = [l for l in text.splitlines() if l.startswith('|')]
assert len(lines) == 7 and len({l.count('|') for l in lines}) == 1"
    call 0 bench $small --format svg
    parses svg "
root = xml.fromstring(text)
assert root.tag.endswith('svg') and len(root.findall('.//{*}circle')) == 5
assert 'nan' not in text and 'inf' not in text"
    call 0 bench $small --no-limits
    grep -q '^decode .*40' "$work/out" || fail "table: $(cat "$work/out")"
    call 0 bench --shape llama-test --type q4_k_m -p 8 -n 0 -r 1 --no-limits --format json
    parses mixture "
o = json.loads(text)
assert o['model'] == 'llama-test q4_K_M', o['model']
cols = 512 * 210 / 256 - 512 * 144 / 256 # of a row, more in q6_K than in q4_K
plain = 2 * (2 * 512 + 2 * 128 + 3 * 512) * 288 + 2 * 320 * 288
rows = 320 + 128 + 512 # the output's, and those of the last layer
norms = (2 * 2 + 1) * 512 * 4
assert o['weight_bytes'] == plain + rows * cols + norms, o['weight_bytes']"
    call 0 bench --shape llama-test --type q4_k -p 8 -n 0 -r 1 --no-limits --format json
    parses "no text" "assert json.loads(text)['decode_tps']['max'] == 0"
}

# A file, and its title.
call 0 bench -m "$work/m.gguf" -p 8 -n 2 -r 1 --no-limits --format json
parses file "assert json.loads(text)['model'].endswith('m.gguf')"

# The start alone.
call 0 bench -m "$work/m.gguf" --start --format json
parses start "
o = json.loads(text)
assert 0 < o['load_s'] < o['first_token_s'] and o['packed_s'] == 0 and o['points'] == []"
call 0 bench -m "$work/m.gguf" --start
grep -q '^load .* first token after ' "$work/out" || fail "--start: $(cat "$work/out")"
[ "$(wc -l <"$work/out")" = 2 ] || fail "--start prints more: $(cat "$work/out")"

# Profiles, and the trace as Perfetto wants it.
call 0 bench --shape llama-test --profile "$work/trace.json" -p 16 -n 4 -r 2 --format json
parses profile "
rows = json.loads(text)
calls = {(r['phase'], r['place'], r['op']): r['calls'] for r in rows}
assert calls['decode', 'step', 'step'] == 8 and calls['prefill', 'step', 'step'] == 2
assert calls['decode', 'attention', 'attention'] == 16
whole = sum(r['share'] for r in rows if r['phase'] == 'decode' and r['op'] != 'step')
assert 0.98 < whole < 1.1, whole"
cp "$work/trace.json" "$work/out"
parses trace "
events = json.loads(text)['traceEvents']
assert all(e['ph'] == 'X' and e['dur'] >= 0 and e['ts'] >= 0 for e in events)
names = [e['name'] for e in events]
assert names.count('decode') == 8 and names.count('attention 1') == 10
step = next(e for e in events if e['name'] == 'decode')
inside = [e for e in events if e['name'] == 'linear'
          and step['ts'] <= e['ts'] and e['ts'] + e['dur'] <= step['ts'] + step['dur'] + 0.01]
assert len(inside) >= 5"
[ -e "$work/trace.json.partial" ] && fail "a partial trace is left"
call 0 bench --shape llama-test --profile -p 8 -n 2 -r 1
grep -q '^decode .*attention' "$work/out" || fail "profile: $(cat "$work/out")"
call 1 bench --shape llama-test --profile "$work/none/trace.json" -p 8 -n 2 -r 1
says "none/trace.json"

call 0 bench --shape llama-test --trace "$work/other.json" -p 8 -n 2 -r 1 # is a profile as well
grep -q '^decode .*attention' "$work/out" || fail "trace: $(cat "$work/out")"
cp "$work/other.json" "$work/out"
parses "the other trace" "assert len(json.loads(text)['traceEvents']) > 20"

# The bits are the scalar path's; a prompt of floats may differ in default mode, but by little.
for type in q4_0 f16; do
    call 0 bench --shape llama-test --type $type -p 48 -n 2 -r 1 -t 2 --hash --no-limits \
        --format json
    parses "hash of $type" "
h = json.loads(text)['hash']
assert h['equal'] and h['decode'] == h['decode_scalar'] and h['prefill'] == h['prefill_scalar']
assert len(h['decode']) == 16 and h['decode'] != h['prefill']
assert h['tps_default'] > 0 and h['tps_reproducible'] > 0
assert -1e-9 <= h['mean_kl'] < 1e-3 and 0 <= h['largest_difference'] < 0.1, h"
done
call 0 bench --shape llama-test -p 8 -n 2 -r 1 --hash --no-limits
grep -q 'the same bits' "$work/out" || fail "hash: $(cat "$work/out")"

# The comparison with other engines, whose answers are made up here: 10 tokens a second in all.
cat >"$work/peer" <<'END'
#!/bin/sh
case " $* " in *" --help "*) echo "-d, --n-depth <n>"; exit ;; esac
while [ $# -gt 0 ]; do
    case $1 in -p) p=$2 ;; esac
    shift
done
[ "$p" = 0 ] && p='' || p="{\"n_prompt\": ${p%%,*}, \"avg_ts\": 10},"
echo "[$p {\"n_prompt\": 0, \"avg_ts\": 10}]"
END
chmod +x "$work/peer"
if [ -z "$emulator" ]; then
    "$python" "$4/tools/compare.py" --weft "$bin" --peer "other=$work/peer -fa 1" \
        --model "smollm2=$work/m.gguf" --rounds 2 --quick >"$work/out" 2>"$work/err" ||
        fail "compare: $(cat "$work/err")"
    parses compare "
lines = [l for l in text.splitlines() if l.startswith('| smol')]
rows = [[c.strip() for c in l.split('|')[1:-1]] for l in lines]
assert [r[0] for r in rows[:3]] == ['smollm2: prefill 32', 'smollm2: decode',
                                    'smollm2: decode at depth 64'], rows
for r in rows[:3]:
    ratio = float(r[3].split()[0])
    assert r[2] == '10.0 (other)' and 0.5 < ratio / (float(r[1]) / 10) < 2, r
assert len(rows) == 5 and \"as scalar's\" in rows[4][1] and float(rows[3][5]) < float(rows[3][6]) "
    for round in 1 2; do
        "$python" "$4/tools/compare.py" --weft "$bin" --cpu scalar --model "smollm2=$work/m.gguf" \
            --rounds 1 --quick --no-check --results "$work/rounds" >"$work/out" 2>"$work/err" ||
            fail "compare, round $round: $(cat "$work/err")"
        grep -q "^$round rounds, 2 threads, weft's kernels scalar;" "$work/out" ||
            fail "compare, round $round: $(cat "$work/out")"
    done
fi

# Limits, of every variant.
call 0 bench --limits -t 2 --format json
parses limits "
rows = json.loads(text)
assert rows[0]['variant'] == 'scalar' and all(r['read_one'] > 0 and r['f32_all'] > 0 for r in rows)
assert len({r['variant'] for r in rows}) == len(rows)"

# Kernels.
call 0 bench --kernels silu --no-limits --format json
parses kernels "
rows = json.loads(text)
assert rows[0]['variant'] == 'scalar' and rows[0]['speedup'] == 1
assert all(r['kernel'] == 'silu' and r['gbps'] > 0 and r['variant'] in r['name'] for r in rows)"
call 1 bench --kernels no-such-kernel
says no-such-kernel

for bad in "--format xml" "--shape llama-9t" "--shape llama-test --type q9" "--type q4_0" \
    "-m x --shape llama-test" "-p 0" "-p 1,,2" "-p 1,x" "--depth -1" "--batch 0" "--batch 513" \
    "extra" "--profile --kernels" "--hash --profile" "--trace x --kernels" "--limits --no-limits" \
    "--start --limits" "--start --hash" "--start --format svg" \
    "--kernels a b" "--kernels --format svg" "-r 0" \
    "-p 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"; do
    # shellcheck disable=SC2086
    call 2 bench $bad
done
call 1 bench --shape llama-test --type i32
says i32
finish
