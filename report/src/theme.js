// SPDX-License-Identifier: BSD-3-Clause
// Colours, dark and light, and who wants to know when they change.

const light = {
    name: 'light',
    text: '#1b2430',
    muted: '#5b6675',
    line: '#d6dce4',
    faint: '#eaeef3',
    card: '#ffffff',
    accent: '#1f5fae',
    bad: '#b3261e',
    good: '#2b7a4b',
    series: ['#1f5fae', '#d0601f', '#2b8a57', '#8a4aa8', '#b58500', '#c23b63', '#127f94', '#6a5a4a',
             '#5a6bd0', '#7d9a1c', '#e08a5a', '#4a4f57'],
    heat: ['#1d6b46', '#8cc49a', '#f4efe0', '#eba56f', '#b3371e'],
};

const dark = {
    name: 'dark',
    text: '#e4e9f0',
    muted: '#9aa6b6',
    line: '#3a4554',
    faint: '#262f3b',
    card: '#171d26',
    accent: '#6ba6ee',
    bad: '#ff8a80',
    good: '#71cf97',
    series: ['#6ba6ee', '#f0955a', '#6bcb95', '#c493e0', '#e0bb4a', '#f0809f', '#5cc3d6', '#bfa98f',
             '#97a4f5', '#b5cf5c', '#f5bf9e', '#aeb6c2'],
    heat: ['#2f9c68', '#2d6347', '#343a42', '#8f5530', '#e0603f'],
};

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
