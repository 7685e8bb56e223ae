// SPDX-License-Identifier: BSD-3-Clause
// Which palette is shown, and who wants to know when it changes.
import { dark, light } from './palettes.js';

/** The colour of text on a heat map's cell that lies at a share of the way from its first colour to its last. */
export function inkOn(colours, share) {
    const { heat } = colours;
    const at = Math.min(Math.max(share, 0), 1) * (heat.length - 1);
    const low = Math.min(Math.floor(at), heat.length - 2);
    const part = (colour, i) => parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
    const mixed = [0, 1, 2].map((i) => part(heat[low], i) + (at - low) * (part(heat[low + 1], i) - part(heat[low], i)));
    // relative luminance (WCAG 2), by which contrast with white and with black is the same at 0.18
    const [red, green, blue] = mixed.map((v) => (v / 255) ** 2.2);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? '#10151c' : '#ffffff';
}

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
