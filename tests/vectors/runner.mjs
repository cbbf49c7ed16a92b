// Runs the vectors on a rotation written for this file alone, in plain JavaScript: node runner.mjs FOLDER
// Prints one line of JSON: how many cases there are, and the names of those that failed.
import { readFileSync } from "node:fs";

const cases = (name) => JSON.parse(readFileSync(`${process.argv[2]}/${name}.json`, "utf8")).cases;

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

const failed = cases("rotate").filter((one) => {
    const off = one.x.flatMap((row, n) =>
        rotate(row, one.positions[n], one).map((value, i) => Math.abs(value - one.expected[n][i])),
    );
    return !(Math.max(...off) <= one.tolerance.float64);
});
console.log(JSON.stringify({ cases: cases("rotate").length, failed: failed.map((one) => one.name) }));
