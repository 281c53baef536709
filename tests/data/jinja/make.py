#!/usr/bin/env python3
"""Writes cases.json: templates, their variables, and what Jinja makes of them, set up as the
libraries that publish chat templates do it. Needs the package jinja2 (made with 3.1.6)."""
import json
import os
from datetime import datetime

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    """{% generation %}: marks what an assistant says; renders its body."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


ENV = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                    extensions=[Generation, loopcontrols])
ENV.filters["tojson"] = tojson
ENV.globals["raise_exception"] = raise_exception
ENV.globals["strftime_now"] = lambda f: datetime(2026, 1, 5, 14, 7, 9).strftime(f)

DATA = {
    "s": "Hello", "u": "Größe – 東京 \U0001f600", "ws": "  \t a b \n", "e": "", "t": True, "f": False,
    "n": None, "i": 7, "neg": -7, "x": 2.5, "l": [3, 1, 2], "el": [],
    "d": {"b": 1, "a": [1, {"z": None}], "items": "key"}, "ed": {},
    "m": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"},
          {"role": "assistant", "content": "A", "n": {"k": 1}}],
    "words": ["b", "A", "c", "a"], "q": "it's \"q\"", "multi": "a\nb\n\nc\n",
}

TEMPLATES = r"""
{{ s }}|{{ u }}|{{ n }}|{{ t }}|{{ f }}|{{ i }}|{{ x }}|{{ missing }}|{{ l }}|{{ d }}|{{ el }}|{{ ed }}
{{ q }} {{ [q, 'a\'b', 'a"b', 'tab\t', 'nl\n', 'é', '\x00', '\u200b', '\U0001f600', '\\'] }}
{{ (1,) }} {{ (1, 2) }} {{ () }} {{ 1, 2 }} {{ {'a': (1,)} }} {{ {1: 2, none: 3, true: 4} }}
{{ 1 + 2 * 3 - 4 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 3 ** 2 }}
{{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 1e3 }} {{ 1.0 }} {{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1.5e-7 }} {{ 123456789.125 }} {{ 1/3 }} {{ 0.1 + 0.2 }}
{{ 1_000 }} {{ 0x1f }} {{ 0o17 }} {{ 0b101 }} {{ 1_0.5 }} {{ -1 }} {{ +1 }} {{ - 1 }} {{ --1 }}
{{ 'a' 'b' }} {{ 'a' ~ 1 ~ none ~ true ~ missing }} {{ 'a' * 3 }} {{ 3 * 'ab' }} {{ [1] * 2 }} {{ [1] + [2] }} {{ (1,) + (2,) }}
{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ 1 == true }} {{ 'a' == 'a' }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ none == false }} {{ missing == missing2 }} {{ missing == none }}
{{ 'a' in 'abc' }} {{ 'd' not in 'abc' }} {{ 1 in [1] }} {{ 'b' in d }} {{ 'x' in missing }} {{ '' in 'abc' }} {{ not 'a' in 'abc' }}
{{ t and 'yes' }} {{ f or 'no' }} {{ f and x }} {{ n or e or 0 }} {{ not t }} {{ not not t }} {{ not e }}
{{ 'a' if t else 'b' }} {{ 'a' if f else 'b' }} {{ 'a' if f }}| {{ 'a' if f else 'b' if f else 'c' }} {{ ('a' if t) is defined }}
{{ s[0] }} {{ s[-1] }} {{ s[1:3] }} {{ s[:-1] }} {{ s[::-1] }} {{ s[::2] }} {{ s[5] }} {{ s[10:] }} {{ u[2] }} {{ u[-1] }} {{ u[8:10] }} {{ s[3:1] }} {{ s[-100:100] }}
{{ l[0] }} {{ l[-1] }} {{ l[1:] }} {{ l[::-1] }} {{ l[:2] }} {{ l[-2:] }} {{ l[10] }} {{ l[5:] }} {{ l[2:0:-1] }} {{ l.0 }} {{ (1, 2, 3)[1:] }}
{{ d.b }} {{ d['b'] }} {{ d.a[1].z }} {{ d.missing }} {{ d.items() | list }} {{ d['items'] }} {{ d.keys() | list }} {{ d.values() | list }} {{ d.get('b') }} {{ d.get('q') }} {{ d.get('q', 5) }} {{ d['keys'] is defined }}
{{ d.items() }} {{ d.keys() }} {{ d.values() }} {{ range(3) }} {{ range(1, 7, 2) | list }} {{ range(5, 0, -2) | list }} {{ range(0) | list }}
{{ missing.x }}
{{ missing + 1 }}
{{ 'a' + 1 }}
{{ 1 + 'a' }}
{{ [1] + 'a' }}
{{ none + 1 }}
{{ 1 / 0 }}
{{ 0 ** -1 }}
{{ 1 // 0 }}
{{ 1 < 'a' }}
{{ none < 1 }}
{{ 1 in 'abc' }}
{{ 1 in none }}
{{ missing() }}
{{ s() }}
{{ d.nothing() }}
{{ d.b.c.e }}
{{ n.x.y }}
{{ l['x'] }}|{{ l.x }}|{{ n.x }}|{{ n[0] }}|{{ i.x }}
{{ s | length }} {{ u | length }} {{ l | count }} {{ d | length }} {{ missing | length }}
{{ i | length }}
{{ n | length }}
{{ ws | trim }}| {{ 'xxaxx' | trim('x') }} {{ 5 | trim }} {{ n | trim }} {{ missing | trim }}|
{{ s | upper }} {{ s | lower }} {{ 'hello wORLD' | capitalize }} {{ "hello wORLD it's (foo) a-b" | title }} {{ 'straße' | upper }} {{ 'ÄÖ' | lower }} {{ 5 | upper }}
{{ 'aXbXc' | replace('X', '-') }} {{ 'aXbXc' | replace('X', '-', 1) }} {{ 'abc' | replace('', '.') }} {{ 123 | replace(2, 'x') }}
{{ missing | default('d') }} {{ n | default('d') }} {{ n | default('d', true) }} {{ e | default('d', boolean=true) }} {{ missing | d }}| {{ missing | default }}|
{{ l | join }} {{ l | join(', ') }} {{ m | join('-', attribute='role') }} {{ d | join(',') }} {{ 'abc' | join('.') }} {{ [none, true, 1.5] | join('|') }} {{ missing | join('x') }}|
{{ l | sort }} {{ l | sort(reverse=true) }} {{ words | sort }} {{ words | sort(case_sensitive=true) }} {{ m | sort(attribute='role') | map(attribute='role') | list }} {{ l | list }} {{ 'abc' | list }}
{{ [1, 'a'] | sort }}
{{ l | first }} {{ l | last }} {{ el | first }}| {{ el | last }}| {{ l | min }} {{ l | max }} {{ words | min }} {{ words | max }} {{ l | sum }} {{ el | sum }} {{ [1.5, 2] | sum }} {{ [{'v': 1}, {'v': 2}] | sum(attribute='v') }}
{{ l | reverse | list }} {{ s | reverse }} {{ ['a', 'A', 'b', 'a'] | unique | list }} {{ ['a', 'A'] | unique(case_sensitive=true) | list }}
{{ m | map(attribute='role') | list }} {{ words | map('upper') | list }} {{ m | map(attribute='x', default='-') | list }} {{ m | map(attribute='n.k') | list }}
{{ m | selectattr('role', 'equalto', 'user') | list | length }} {{ m | selectattr('n') | list | length }} {{ m | selectattr('n', 'defined') | map(attribute='role') | join }} {{ m | rejectattr('role', '==', 'user') | map(attribute='role') | join(' ') }}
{{ [1, 2, 3, 4] | select('even') | list }} {{ [1, 2, 3] | reject('odd') | list }} {{ [0, 1, none, 'a', ''] | select | list }} {{ [1, 2, 3] | select('>', 1) | list }} {{ ['a', 'b'] | select('in', ['a']) | list }} {{ none | select | list }}
{{ (el | select) is defined }} {{ 'yes' if el | select else 'no' }} {{ 'yes' if el | map('upper') else 'no' }}
{{ el | map('upper') | length }}
{{ m | selectattr('role', 'nosuchtest') | list }}
{{ s | nosuchfilter }}
{{ s is nosuchtest }}
{{ d | dictsort }} {{ {'b': 2, 'A': 3, 'c': 1} | dictsort }} {{ {'b': 2, 'A': 3} | dictsort(case_sensitive=true) }} {{ {'b': 2, 'a': 3} | dictsort(by='value') }} {{ {'b': 2, 'a': 3} | dictsort(reverse=true) }} {{ d | items | list }} {{ missing | items | list }}
{{ '3' | int }} {{ '3.7' | int }} {{ 'x' | int }} {{ 'x' | int(9) }} {{ 3.9 | int }} {{ -3.9 | int }} {{ true | int }} {{ ' 42 ' | int }} {{ '3.5' | float }} {{ 'x' | float }} {{ 3 | float }} {{ none | int }}
{{ -3 | abs }} {{ 3.456 | round(2) }} {{ 2.5 | round }} {{ 3.5 | round }} {{ 2.345 | round(2, 'ceil') }} {{ 2.345 | round(1, 'floor') }} {{ 7 | round }}
{{ multi | indent }}| {{ multi | indent(2) }}| {{ multi | indent(2, true) }}| {{ multi | indent(2, blank=true) }}| {{ multi | indent('>> ', first=true) }}|
{{ '<a href="x">&\'' | escape }} {{ '<' | e }} {{ '<b>' | safe }} {{ '<b>' | safe + '<i>' }} {{ '<i>' + '<b>' | safe }} {{ '<b>' | safe ~ '<i>' }} {{ ('<b>' | safe) | escape }} {{ '<b>' | safe | trim + '"' }}
{{ '%s-%s' | format('a', 1) }} {{ '%05d|%-5s|%5s|%.2f|%x|%%' | format(42, 'a', 'b', 3.14159, 255) }} {{ '%s' % 'a' }} {{ '%s %s' % ('a', 'b') }} {{ '%(k)s' % {'k': 1} }} {{ '%r' % 'a' }} {{ '%d' % 3.7 }} {{ '%+d' % 3 }}
{{ '%s %s' % 'a' }}
{{ '%d' % 'a' }}
{{ '%s' % ('a', 'b') }}
{{ '{}-{}'.format('a', 1) }} {{ '{0}{1}{0}'.format('a', 'b') }} {{ '{x}'.format(x=1) }} {{ '{{}}'.format() }} {{ '{!r}'.format('a') }}
{{ '{}'.format() }}
{{ 'a b  c'.split() }} {{ 'a,b,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b '.split(none, 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'a\nb\r\nc'.splitlines() }} {{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'abc'.partition('=') }} {{ 'abc'.rpartition('=') }}
{{ 'a'.split('') }}
{{ ws.strip() }}| {{ ws.lstrip() }}| {{ ws.rstrip() }}| {{ 'xxaxx'.strip('x') }} {{ 'xyaxy'.lstrip('yx') }} {{ 'xyaxy'.rstrip('yx') }}
{{ s.startswith('He') }} {{ s.endswith('lo') }} {{ s.startswith(('a', 'H')) }} {{ s.find('l') }} {{ s.rfind('l') }} {{ s.find('z') }} {{ s.count('l') }} {{ s.upper() }} {{ s.lower() }} {{ 'a b'.title() }} {{ "it's".title() }} {{ 'aB'.capitalize() }} {{ '12'.isdigit() }} {{ ''.isdigit() }} {{ 'ab'.isalpha() }} {{ ' '.isspace() }} {{ 'a1'.isalnum() }} {{ '-'.join(['a', 'b']) }} {{ s.replace('l', 'L') }} {{ s.replace('l', 'L', 1) }} {{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('c') }}
{{ '-'.join([1]) }}
{{ s.nosuchmethod() }}
{{ l.index(1) }} {{ l.count(1) }} {{ l.copy() }} {{ d.copy() == d }}
{{ d | tojson }} {{ u | tojson }} {{ q | tojson }} {{ [1, 1.0, true, none, 'a'] | tojson }} {{ u | tojson(ensure_ascii=true) }} {{ {} | tojson }} {{ [] | tojson }} {{ 'a/b\t\x01\x7f\u2028' | tojson }} {{ 1e20 | tojson }} {{ (1, 2) | tojson }} {{ {1: 2, true: 3, none: 4} | tojson }} {{ '<>&' | tojson }}
{{ d | tojson(indent=2) }} {{ [] | tojson(indent=2) }} {{ d | tojson(separators=(',', ':')) }} {{ {'b': 1, 'a': 2} | tojson(sort_keys=true) }} {{ [1] | tojson(indent=0) }} {{ [1, [2]] | tojson(indent=4, separators=(',', ':')) }}
{{ missing | tojson }}
{{ d.items() | tojson }}
{{ missing is callable }}{{ i is callable }}{{ range is callable }}{{ s is callable }}
{{ 'abcdef'[::-1] }}{{ 'abcdef'[-2:] }}{{ 'abcdef'[10:] }}{{ [1, 2, 3][-5:2] }}{{ 'é漢🎉'[1] }}{{ 'é漢🎉' | length }}
{{ 7 // -2 }}{{ -7 % 3 }}{{ 7.5 // 2 }}{{ -7.5 % 2 }}{{ 2 ** -1 }}{{ -2 ** 2 }}{{ 2 ** 3 ** 2 }}{{ 0 ** 0 }}{{ 3 // 0.5 }}
{{ '%5.2f|%-5s|%05d|%x|%r|%%' % (3.14159, 'ab', 42, 255, 'q') }}
{{ 3.0 }}{{ 1e20 }}{{ 1e-7 }}{{ 0.1 + 0.2 }}{{ 1e16 }}{{ 123456789.123 }}{{ -0.0 }}{{ '3.7' | int }}{{ 'x' | int(9) }}{{ 2.5 | round }}
{{ 1 < 2 < 3 }}{{ 1 == 1.0 }}{{ true == 1 }}{{ [1] == [1.0] }}{{ [1, 2] < [1, 3] }}{{ not true == false }}
{{ {1: 2, 'a': 3, none: 4, true: 5} }}
{{ 'a' < 1 }}
{{ {} < {} }}
{{ [1] + 'a' }}
{{ 'ab'.partition('b') }}{{ 'a\nb\r\nc'.splitlines() }}{{ 'abcabc'.count('bc') }}
{{ '\x41\u00e9\U0001F389\a\q' | tojson }}
{{ s is string }} {{ i is number }} {{ x is float }} {{ i is integer }} {{ t is integer }} {{ t is boolean }} {{ t is true }} {{ f is false }} {{ t is number }} {{ n is none }} {{ missing is defined }} {{ missing is undefined }} {{ d is mapping }} {{ l is mapping }} {{ l is sequence }} {{ s is sequence }} {{ d is sequence }} {{ i is sequence }} {{ missing is sequence }} {{ d.items() is sequence }}
{{ l is iterable }} {{ s is iterable }} {{ d is iterable }} {{ i is iterable }} {{ n is iterable }} {{ missing is iterable }} {{ range is callable }} {{ s is callable }} {{ 4 is even }} {{ 3 is odd }} {{ 6 is divisibleby 3 }} {{ 6 is divisibleby(4) }} {{ 'a' is lower }} {{ 'A' is upper }} {{ '1' is lower }} {{ 1 is eq 1 }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 1 is ge 1 }} {{ 'a' is in ['a'] }} {{ 'a' is in 'abc' }} {{ n is sameas none }} {{ t is sameas true }} {{ 1 is sameas true }} {{ 'upper' is filter }} {{ 'odd' is test }}
{{ s is not none }} {{ not s is none }} {{ s is defined and s }} {{ missing is not defined }} {{ (1 + 1) is even }} {{ 1 + 1 is even }}
{{ ns }}{% set ns = namespace(a=1, b='x') %}{{ ns.a }}{% set ns.a = ns.a + 1 %}{{ ns.a }}{{ ns.c }}|{{ ns['b'] }}{% set ns2 = namespace({'k': 1}, j=2) %}{{ ns2.k }}{{ ns2.j }}
{% set d2 = d %}{% set d2.x = 1 %}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}{% set (e1, e2) = [5, 6] %}{{ e1 }}{{ e2 }}
{% set a, b = [1] %}
{% set a, b = [1, 2, 3] %}
{% set v %}  x {{ i }} {% endset %}[{{ v }}]{% set v | trim | upper %}  x {% endset %}[{{ v }}]{{ v is string }}
{% filter upper %}a{{ s }}b{% endfilter %} {% filter replace('a', 'b') | trim %} aaa {% endfilter %}
{% for v in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ v }};{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for c in 'aé' %}{{ c }}.{% endfor %}{% for v in el %}x{% else %}empty{% endfor %}{% for v in missing %}x{% else %}none{% endfor %}
{% for v in n %}{% endfor %}
{% for v in i %}{% endfor %}
{% for a, b in [1] %}{% endfor %}
{% for v in l if v > 1 %}{{ v }}{{ loop.length }}{% if not loop.last %},{% endif %}{% else %}x{% endfor %}
{% for v in l %}{% if v == 1 %}{% continue %}{% endif %}{{ v }}{% endfor %}|{% for v in l %}{% if v == 1 %}{% break %}{% endif %}{{ v }}{% endfor %}
{% for v in l %}{{ loop.previtem }}<{{ v }}>{{ loop.nextitem }} {{ loop.cycle('a', 'b') }} {{ loop.changed(v > 1) }};{% endfor %}
{% for v in l %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{{ loop.depth }}{% endfor %}
{% for v in [[1, [2, 3]], [4]] recursive %}{% if v is iterable %}[{{ loop(v) }}]{% else %}{{ v }}:{{ loop.depth }}{% endif %}{% endfor %}
{% set y = 0 %}{% for v in l %}{% set y = y + v %}{{ y }}{% endfor %}{{ y }}
{% if t %}{% set z = 1 %}{% endif %}{{ z }}{% for v in l %}{% set w = v %}{% endfor %}{{ w is defined }}{% for v in [1] %}{% for u in [2] %}{{ v }}{{ u }}{{ loop.index }}{% endfor %}{{ u }}{% endfor %}
{% for i in [1, 2] %}{{ i }}{% endfor %}{{ i }}{{ loop is defined }}
{% macro f(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }};{% endmacro %}{{ f(1) }}{{ f(1, 3) }}{{ f(1, c='z') }}{{ f(a=5) }}{{ f() }}{{ f.name }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, b=2) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, a=2) }}
{% macro f(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ f(3) }}
{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, k=3) }}
{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}
{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}
{% macro box(t) %}[{{ t }}:{{ caller() }}]{% endmacro %}{% call box('T') %}body {{ s }}{% endcall %}
{% macro each(l) %}{% for v in l %}{{ caller(v) }}{% endfor %}{% endmacro %}{% call(v) each(l) %}<{{ v }}>{% endcall %}
{% macro f() %}x{% endmacro %}{% call f() %}y{% endcall %}
{% macro f() %}{{ outer }}{% endmacro %}{% set outer = 'late' %}{{ f() }}{% set v = f() %}{{ v | upper }}
{% macro f() %}{% set inner = 1 %}{{ inner }}{% endmacro %}{{ f() }}{{ inner is defined }}
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}{% with %}{% set k = 1 %}{{ k }}{% endwith %}{{ k is defined }}
{% generation %}g{{ s }}{% endgeneration %}|
{% raw %}{{ x }} {% if %}{% endraw %}|{%- raw -%}  a  {%- endraw -%}  |
a {# comment #} b {#- c -#} c
{%- if t -%}  x  {%- else -%} y {%- endif -%}  z
  {% if t %}
    x
  {% endif %}
  y
a   {%- if t %} b {% endif -%}   c {{- ' d ' -}}  e
  {{ s }}  
  {%+ if t %}x{% endif +%}
y
a{% if t +%}
b{% endif %}

c

{% if f %}a{% elif i == 7 %}b{% elif t %}c{% else %}d{% endif %}
{{ raise_exception('my message: ' + s) }}
{{ strftime_now('%Y-%m-%d %H:%M:%S %d %b %Y %B %A %a %j %y %I %p %-d %e %%') }}
{{ [1, 2, 3] | map('string') | join }} {{ dict(a=1, b=2) }} {{ {'a': 1}.a }} {{ {'a': {'b': 1}}.a.b }} {{ [[1, 2], [3]][0][1] }} {{ 'abc'[1] }} {{ ('a', 'b')[1] }}
{{ s.upper().lower().strip() }} {{ (s | upper).lower() }} {{ s | upper | lower }} {{ -1 | abs }} {{ -(1) }} {{ not 1 == 2 }} {{ 1 if not f }} {{ [x, i][1] }}
{{ '\'' }} {{ "\"" }} {{ '\\n' }} {{ '\n' }}| {{ '\x41\u00e9\101' }} {{ '\q' }} {{ 'a\
b' }}
{{ 'nested {{ }} %}' }} {{ {'a': {'b': {}}} }} {{ '}}' }}
{{ m[0].role }} {{ m[0]['role'] }} {{ m[-1].n.k }} {{ m[1:] | length }} {{ m[::-1][0].role }} {{ m[:1][0].content }}
{% if m[0].role == 'system' and m[0].content is string %}{% set sys = m[0].content %}{% set rest = m[1:] %}{% endif %}{{ sys }}{{ rest | length }}
{% for v in range(3) %}{{ v }}{% endfor %}{{ range(3)[1] }}{{ range(10)[2:4] | list }}{{ 2 in range(3) }}
{{ range(200000) }}
{{ 'x' * 5 ~ 'y' }}{{ 1 ~ 2 + 3 }}
{{ i if i }} {{ (i, s) }} {{ [i, [s, [x]]] }} {{ [missing] }}
{{ true and false or true }} {{ True }} {{ None }} {{ False }} {{ none is none }}
{{ {'a': 1, 'a': 2} }} {{ {'x': 1} == {'x': 1.0} }} {{ [1, 2] == [1, 2] }} {{ (1,) == [1] }} {{ {1: 'a'}[1] }} {{ {1: 'a'}[true] }}
{{ 'a' is in }}
{% if %}x{% endif %}
{% for x %}{% endfor %}
{% endfor %}
{% if t %}x
{{ 1 +
{{ (1 }}
{{ [1, 2 }}
{% nosuchtag %}
{{ 'open }}
{# open
{{ a b }}
{{ }}
{% set %}
{% set x = %}
{% macro f(a=1, b) %}{% endmacro %}
{% break %}
{{ 1 ! 2 }}
{{ x | }}
{{ x. }}
{{ f(a=1, 2) }}
{% raw %}x
{{ loop }}
{{ '%s' % missing }}|{{ missing ~ 'a' }}|{{ missing | string }}|{{ missing | upper }}|
{{ l is sequence and l is not string and l is not mapping }} {{ t is sameas(true) }} {{ none is not none or true }}
{{ words | join(', ') | upper }} {{ (words | sort)[0] }} {{ words | sort | first }} {{ words | length > 3 }} {{ l | length - 1 }} {{ l[l | length - 1] }}
{% set x = 5 %}{% if x > 3 %}{% set x = 10 %}{% endif %}{{ x }}{% for q in [1] %}{% set x = 20 %}{{ x }}{% endfor %}{{ x }}
{%- for msg in m %}{%- if msg.role == 'user' %}
U: {{ msg.content }}
{%- elif msg['role'] == 'assistant' -%}
A: {{ msg['content'] -}}
{% endif %}
{%- endfor %}
end
{{ '12abc' | replace('abc', '') | int + 1 }} {{ '1,2' .split(',')[0] }} {{ s . upper ( ) }}
{{ [3, 1] | sort | join(',') }} {{ 'b,a' | replace(',', '') | list | sort | join }} {{ d | list }} {{ d | first }} {{ 'abc' | first }} {{ 'abc' | last }}
{% set big = 18446744073709551616 %}{{ big > 5 }} {{ big == 18446744073709551616 }} {{ big | tojson }} {{ big is integer }} {{ -9223372036854775808 }}
{{ 'é'|length }}{{ '日本語'[1:] }}{{ '日本語'[::-1] }}{{ '日本語'.find('語') }}{{ 'ÀB'.lower() }}{{ '  x'.strip() }}|
"""


def cases():
    """Cases are lines; one that is indented, empty or an `end` goes on the one before it."""
    out, many = [], None
    lines = TEMPLATES.strip("\n").split("\n")
    starts = ("  {% if t %}", "  {%+ if", "a{% if t +%}", "{%- for msg in m %}", r"{{ '\'' }}")
    at = 0
    while at < len(lines):
        n = {starts[0]: 4, starts[1]: 2, starts[2]: 4, starts[3]: 7, starts[4]: 2}
        take = next((v for k, v in n.items() if lines[at].startswith(k)), 1)
        out.append("\n".join(lines[at:at + take]))
        at += take
    return out


def main():
    records = []
    for template in [c for c in cases() if c.strip()] + ["", "\n", "a\n", "a\n\n", "a\r\nb\r\n", "{{ s }}\n", "{{ s }}\n\n",
                                "{% if t %}\nx\n{% endif %}\n", "{# c #}\nx", "\n  {# c #}\n  x"]:
        record = {"template": template}
        try:
            record["output"] = ENV.from_string(template).render(**DATA)
        except RecursionError:
            record["error"] = ""
        except Exception as e:
            record["error"] = str(e)
        records.append(record)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "cases.json"), "w", encoding="utf-8") as f:
        json.dump({"variables": DATA, "cases": records}, f, ensure_ascii=False, indent=1)
        f.write("\n")
    print(len(records), "cases")


main()
