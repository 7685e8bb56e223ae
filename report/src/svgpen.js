// SPDX-License-Identifier: BSD-3-Clause
// What the timeline asks of a canvas's pen, drawn as SVG instead: rectangles, lines, text and clipping.
const escape = (text) => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const round = (x) => Math.round(x * 100) / 100;

export class SvgPen {
    constructor(width, height) {
        this.size = [width, height];
        this.parts = [];
        this.path = '';
        this.area = null;
        this.clips = 0;
        this.open = [];
        Object.assign(this, { fillStyle: '#000', strokeStyle: '#000', lineWidth: 1, globalAlpha: 1, textAlign: 'left' });
    }

    fillRect(x, y, width, height) {
        this.parts.push(`<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" fill="${this.fillStyle}"${this.globalAlpha < 1 ? ` fill-opacity="${this.globalAlpha}"` : ''}/>`);
    }

    fillText(text, x, y) {
        const anchor = this.textAlign === 'center' ? ' text-anchor="middle"' : '';
        this.parts.push(`<text x="${round(x)}" y="${round(y)}"${anchor} fill="${this.fillStyle}">${escape(text)}</text>`);
    }

    /** About: letters of a sans-serif of 11 pixels. */
    measureText(text) { return { width: 6.2 * String(text).length }; }

    beginPath() { this.path = ''; this.area = null; }

    moveTo(x, y) { this.path += `M${round(x)} ${round(y)}`; }

    lineTo(x, y) { this.path += `L${round(x)} ${round(y)}`; }

    rect(x, y, width, height) { this.area = [x, y, width, height].map((v) => round(Math.max(v, 0))); }

    stroke() {
        this.parts.push(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-opacity="${this.globalAlpha}"/>`);
    }

    save() { this.open.push(0); }

    clip() {
        const [x, y, width, height] = this.area;
        this.clips++;
        this.parts.push(`<clipPath id="c${this.clips}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/></clipPath><g clip-path="url(#c${this.clips})">`);
        this.open[this.open.length - 1]++;
    }

    restore() { this.parts.push('</g>'.repeat(this.open.pop())); }

    text() {
        const [width, height] = this.size;
        return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">\n${this.parts.join('\n')}\n</svg>\n`;
    }
}
