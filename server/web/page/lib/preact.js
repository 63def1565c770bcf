/** What components are made of: html`…` templates and hooks. The only module that names the libraries. */
import { h, render, Fragment, Component } from "../vendor/preact.mjs";
import htm from "../vendor/htm.mjs";

export { render, Fragment, Component };
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useId } from "../vendor/hooks.mjs";
export const html = htm.bind(h);
