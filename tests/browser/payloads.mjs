// Text that tries to be markup, in the usual ways.

const CALL = "window.planted=1";

/** One per technique. */
export const vectors = [
    `<script>${CALL}</script>`,
    `<img src=x onerror=${CALL}>`,
    `<svg onload=${CALL}>`,
    `<svg><script>${CALL}</script></svg>`,
    `<body onload=${CALL}>`,
    `<iframe src="javascript:${CALL}"></iframe>`,
    `<iframe srcdoc="<script>parent.${CALL}</script>"></iframe>`,
    `<a href="javascript:${CALL}">x</a>`,
    `<details open ontoggle=${CALL}>`,
    `<input autofocus onfocus=${CALL}>`,
    `<video><source onerror=${CALL}></video>`,
    `<audio src=x onerror=${CALL}>`,
    `<marquee onstart=${CALL}>`,
    `<object data="javascript:${CALL}">`,
    `<embed src="javascript:${CALL}">`,
    `<form action="javascript:${CALL}"><button>x</button></form>`,
    `<math><mtext></form><form><mglyph><style></math><img src onerror=${CALL}>`,
    `<link rel=stylesheet href="data:text/css,*{x:expression(${CALL})}">`,
    `<base href="javascript:${CALL}//">`,
    `<meta http-equiv=refresh content="0;url=javascript:${CALL}">`,
    `<template><script>${CALL}</script></template>`,
    `<noscript><p title="</noscript><img src=x onerror=${CALL}>">`,
    `<style>@import 'javascript:${CALL}';</style>`,
    `<style>*{background:url(javascript:${CALL})}</style>`,
    `javascript:${CALL}`,
    `JaVaScRiPt:${CALL}`,
    `java\tscript:${CALL}`,
    ` javascript:${CALL}`,
    `data:text/html,<script>${CALL}</script>`,
    `vbscript:${CALL}`,
    `&lt;script&gt;${CALL}&lt;/script&gt;`,
    `\u202e<script>${CALL}</script>`,
    `{{constructor.constructor('${CALL}')()}}`,
    `\${${CALL}}`,
    `__proto__`,
    `constructor`,
    `</title><script>${CALL}</script>`,
    `</textarea><script>${CALL}</script>`,
    `<!--><script>${CALL}</script>-->`,
    `<![CDATA[<script>${CALL}</script>]]>`,
    `<x onclick=${CALL} style="position:fixed;inset:0">`,
];

const WRAPPERS = [
    (text) => text,
    (text) => `"'>${text}`,
    (text) => `' ${text} "`,
    (text) => `--></style></script>${text}`,
    (text) => `\`${text}\``,
];

/** 205 of them, each different. */
export const payloads = WRAPPERS.flatMap((wrap) => vectors.map(wrap));
