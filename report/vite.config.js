// SPDX-License-Identifier: BSD-3-Clause
// Builds index.html into dist/template.html: one file with its script and style inside.
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { defineConfig } from 'vite';

/** Puts each chunk and style sheet into the page, so that it needs neither network nor neighbours. */
function oneFile() {
    return {
        name: 'one-file',
        enforce: 'post',
        generateBundle(_options, bundle) {
            const page = bundle['index.html'];
            let html = String(page.source);
            for (const [name, part] of Object.entries(bundle)) {
                if (part === page) {
                    continue;
                }
                const text = part.type === 'chunk' ? part.code : String(part.source);
                const script = part.type === 'chunk';
                const tag = new RegExp(
                    script
                        ? `<script[^>]*src="[^"]*${name}"[^>]*></script>`
                        : `<link[^>]*href="[^"]*${name}"[^>]*>`,
                );
                if (!tag.test(html)) {
                    this.error(`${name} has no place in the page`);
                }
                html = html.replace(tag, '');
                // A closing tag inside a string of the code would end the element.
                const safe = text.replace(/<\/(script|style)/gi, '<\\/$1');
                html = script
                    ? html.replace('</body>', () => `<script type="module">${safe}</script>\n</body>`)
                    : html.replace('</head>', () => `<style>${safe}</style>\n</head>`);
                delete bundle[name];
            }
            page.source = html;
        },
        async writeBundle(options) {
            await rename(join(options.dir, 'index.html'), join(options.dir, 'template.html'));
        },
    };
}

export default defineConfig({
    base: './',
    plugins: [oneFile()],
    build: {
        target: 'es2021',
        assetsInlineLimit: 1 << 20,
        cssCodeSplit: false,
        modulePreload: false,
        chunkSizeWarningLimit: 2000,
    },
});
