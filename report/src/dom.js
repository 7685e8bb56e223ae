// SPDX-License-Identifier: BSD-3-Clause
// Building elements. Text from result files only ever becomes text nodes or escaped strings.

/** An element: attributes by name, `on…` as listeners, children as nodes or text. */
export function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith('on')) {
            element.addEventListener(name.slice(2), value);
        } else if (value === true) {
            element.setAttribute(name, '');
        } else if (value !== false && value !== null && value !== undefined) {
            element.setAttribute(name, value);
        }
    }
    element.append(...children.flat(2).filter((c) => c !== null && c !== undefined && c !== false));
    return element;
}

/** Text made safe inside HTML that a chart library takes as a string. */
export function esc(text) {
    return String(text).replace(
        /[&<>"']/g,
        (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c],
    );
}

/**
 * Put charts into a box of six columns so that every row is full: three or two beside each other, as the window allows,
 * and what three would leave over in rows of two. A wide chart has a row of its own.
 */
export function arrange(box, charts) {
    let run = [];
    const spread = () => {
        const paired = run.length % 3 === 0 ? 0 : run.length % 3 === 2 ? 2 : 4;
        run.forEach((chart, i) => {
            const last = run.length - i;
            chart.style.setProperty('--in-threes', run.length === 1 ? 6 : last <= paired ? 3 : 2);
            chart.style.setProperty('--in-twos', last === 1 && run.length % 2 ? 6 : 3);
        });
        run = [];
    };
    for (const chart of charts) {
        if (chart.classList.contains('wide')) {
            spread();
        } else {
            run.push(chart);
        }
    }
    spread();
    box.replaceChildren(...charts);
    return box;
}

/** A box of charts. */
export function panels(cards = []) {
    return arrange(h('div', { class: 'panels' }), cards.filter(Boolean).map((card) => card.element));
}

/** Offer a file to save. */
export function download(name, content, type) {
    const blob = content instanceof Blob ? content : new Blob([content], { type });
    const url = URL.createObjectURL(blob);
    const link = h('a', { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Rows as comma-separated text (RFC 4180). */
export function csvText(rows) {
    const cell = (value) => {
        const text = value === null || value === undefined ? '' : String(value);
        return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return rows.map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}

/** A row of buttons of which one is pressed. */
export function segmented(label, choices, value, change) {
    const buttons = choices.map(([key, text]) =>
        h(
            'button',
            {
                type: 'button',
                'data-choice': key,
                'aria-pressed': String(key === value),
                onclick: () => {
                    for (const button of buttons) {
                        button.setAttribute('aria-pressed', String(button.dataset.choice === key));
                    }
                    change(key);
                },
            },
            text,
        ),
    );
    return h('div', { class: 'segmented', role: 'group', 'aria-label': label }, buttons);
}

/** A drop-down list with its label. */
export function select(label, choices, value, change) {
    const list = h(
        'select',
        { onchange: () => change(list.value) },
        choices.map(([key, text]) => h('option', { value: key, selected: key === value }, text)),
    );
    return h('label', { class: 'select' }, h('span', {}, label), list);
}
