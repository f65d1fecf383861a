/* style.c - see style.h.
 *
 * --hue-0 is text, --hue-1 faint lines, then a colour for each filter in the
 * order of lib/filter/list.h: hues and lightness that people who do not see red
 * or green tell apart as well; where two are near, shapes of points differ. */
#include "report/style.h"

const char page_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n"
    "<title>weir: ";

const char page_style[] =
    "</title>\n<style>\n"
    ":root{--ground:#fff;--card:#f3f6f9;--edge:#c9d3dc;--hue-0:#1d2329;--hue-1:#dfe4e9;"
    "--hue-2:#0067a5;--hue-3:#d55e00;--hue-4:#8c6d1f;--hue-5:#1f9e8f;--hue-6:#cc6fa0;"
    "--hue-7:#882255;--hue-8:#a63ea0;--hue-9:#c08400;--hue-10:#6b6b2a;--hue-11:#3b2a9b;"
    "--hue-12:#6e7378;--hue-13:#c64f63;--hue-14:#117733;--hue-15:#8a8f1e;--hue-16:#4a90d9;"
    "--hue-17:#5a4632}\n"
    "@media screen and (prefers-color-scheme:dark){:root{--ground:#12161a;--card:#1c2329;"
    "--edge:#3b4650;--hue-0:#e4e8ec;--hue-1:#313a42;--hue-2:#4fb0f5;--hue-3:#ff8b42;"
    "--hue-4:#d6b656;--hue-5:#45d0bf;--hue-6:#f0a3cb;--hue-7:#dd6f9f;--hue-8:#e083d9;"
    "--hue-9:#f2b733;--hue-10:#b8b86a;--hue-11:#a99bff;--hue-12:#a9b0b6;--hue-13:#ff8f9f;"
    "--hue-14:#6ccb7a;--hue-15:#cfd35a;--hue-16:#8fc4ff;--hue-17:#c9ab8c}}\n"
    "body{margin:0;background:var(--ground);color:var(--hue-0);"
    "font:16px/1.5 system-ui,sans-serif}\n"
    "main{max-width:68rem;margin:0 auto;padding:1rem}\n"
    "h1{font-size:1.5rem;line-height:1.25;overflow-wrap:anywhere}h2{font-size:1.2rem}\n"
    "q{quotes:none}\n"
    "#choice{background:var(--card);border:1px solid var(--edge);border-radius:.5rem;"
    "padding:.25rem 1.25rem}\n"
    ".lead{font-size:1.3rem;margin:.75rem 0}\n"
    "pre{background:var(--ground);border:1px solid var(--edge);border-radius:.3rem;padding:.6rem;"
    "overflow-x:auto}\n"
    "code,pre{font-family:ui-monospace,monospace;font-size:.92em}li "
    "code{display:inline-block;vertical-align:bottom}\n"
    "ul{padding-left:1.2rem}li{margin:.3rem 0}\n"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));"
    "gap:1.5rem;margin:1.5rem 0}\n"
    "figure{margin:0;min-width:0}figure svg{display:block;width:100%;height:auto;"
    "color:var(--hue-0)}\n"
    "figcaption{font-size:.85rem;line-height:1.4}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.88rem}\n"
    "th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid var(--edge);"
    "white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    "th:nth-child(2),td:nth-child(2),.all th:first-child,.all td:first-child{text-align:left}\n"
    "tr.best{font-weight:600;background:var(--card)}summary{cursor:pointer;margin:.75rem 0}\n"
    "@media print{main{max-width:none;padding:0}body{font-size:10pt}figure,#choice,table{"
    "break-inside:avoid}.charts{grid-template-columns:1fr 1fr;gap:.8rem 1.2rem}"
    "figcaption{font-size:7.5pt}pre,#choice,tr.best{background:none}details{display:none}}\n"
    "</style>\n</head>\n<body>\n<main>\n";
