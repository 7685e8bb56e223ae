// SPDX-License-Identifier: BSD-3-Clause
// Marks of points. ECharts fills hollow ones with white, which on a dark card outshines all others: these have the card's colour.

/** Symbol and style of a series or a point; `emptyCircle` and the like are hollow. */
export function mark(colours, symbol, colour, opacity) {
    const hollow = /^empty(.)(.*)/.exec(symbol);
    const faint = opacity === undefined ? {} : { opacity };
    return hollow
        ? { symbol: hollow[1].toLowerCase() + hollow[2], itemStyle: { color: colours.card, borderColor: colour, borderWidth: 2, ...faint } }
        : { symbol, itemStyle: { color: colour, ...faint } };
}
