// SPDX-License-Identifier: BSD-3-Clause
// Which palette is shown, and who wants to know when it changes.
import { dark, light } from './palettes.js';

const system = window.matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set();
let wish = 'auto';
let printing = false;

try {
    wish = localStorage.getItem('ictus-theme') || 'auto';
} catch {
    // Storage is off in some browsers for files: the wish then lasts as long as the page.
}

export function theme() {
    const wantsDark = wish === 'dark' || (wish === 'auto' && system.matches);
    return wantsDark && !printing ? dark : light;
}

function tell() {
    document.documentElement.dataset.theme = theme().name;
    for (const listener of listeners) {
        listener();
    }
}

export function onTheme(listener) {
    listeners.add(listener);
}

export function wishedTheme() {
    return wish;
}

export function setTheme(name) {
    wish = name;
    try {
        localStorage.setItem('ictus-theme', name);
    } catch {
        // As above.
    }
    tell();
}

/** On paper everything is light. */
export function setPrinting(on) {
    printing = on;
    tell();
}

system.addEventListener('change', tell);
document.documentElement.dataset.theme = theme().name;
