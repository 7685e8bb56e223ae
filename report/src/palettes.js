// SPDX-License-Identifier: BSD-3-Clause
// Colours, dark and light. Series differ for deuteranopes and protanopes too, heat maps run from light to
// dark, and faster and slower are not told apart by red and green: the test browser.report simulates such eyes.

export const light = {
    name: 'light',
    text: '#1b2430',
    muted: '#5b6675',
    line: '#d6dce4',
    faint: '#eaeef3',
    card: '#ffffff',
    accent: '#1f5fae',
    bad: '#b3261e',
    good: '#2b7a4b',
    faster: '#3b86c9',
    slower: '#8a2f00',
    series: ['#1f5fae', '#d5800a', '#4a1230', '#4f9c68', '#0720cf', '#6e2d04', '#3b8392', '#0e067e'],
    heat: ['#fdf3c4', '#f3cf63', '#c69b4f', '#7c7b78', '#3d5a80', '#00224e'],
};

export const dark = {
    name: 'dark',
    text: '#e4e9f0',
    muted: '#9aa6b6',
    line: '#3a4554',
    faint: '#262f3b',
    card: '#171d26',
    accent: '#6ba6ee',
    bad: '#ff8a80',
    good: '#71cf97',
    faster: '#5f93cf',
    slower: '#ffd08a',
    series: ['#6ba6ee', '#f2c21c', '#a5605a', '#f1f3a7', '#66982d', '#863efb', '#92e9e9', '#4f6f8d'],
    heat: ['#12305c', '#3a4f74', '#6d6f76', '#a08f62', '#d6b64a', '#fdf0a0'],
};
