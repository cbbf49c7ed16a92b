// Runs rotate.json on rotate() below, in whose place you import your own: node runner.mjs rotate.json
import { readFileSync } from "node:fs";

function rotate(row, position, { layout, rotary_dim: width, base, attention_factor: a }) {
    const out = [...row];
    for (let i = 0; i < width / 2; i++) {
        const [first, second] = layout === "interleaved" ? [2 * i, 2 * i + 1] : [i, i + width / 2];
        const angle = position * base ** ((-2 * i) / width);
        out[first] = a * (row[first] * Math.cos(angle) - row[second] * Math.sin(angle));
        out[second] = a * (row[first] * Math.sin(angle) + row[second] * Math.cos(angle));
    }
    return out;
}

const { cases } = JSON.parse(readFileSync(process.argv[2] ?? "rotate.json", "utf8"));
let failed = 0;
for (const one of cases) {
    const found = one.x.map((row, n) => rotate(row, one.positions[n], one));
    const off = found.flatMap((row, n) => one.expected[n].map((value, i) => Math.abs(row[i] - value)));
    if (Math.max(...off) <= one.tolerance.float64) continue; // false for NaN, and for a number that is missing
    failed++;
    console.log(`FAILED ${one.name}, possible mistakes: ${one.catches.join(", ") || "-"}`);
}
console.log(`${cases.length - failed} of ${cases.length} cases passed`);
process.exitCode = failed ? 1 : 0;
