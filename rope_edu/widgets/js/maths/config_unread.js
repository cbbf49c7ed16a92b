// Fields of a config that speak of a rotation and that nobody reads.
import { Table } from "./config_table.js";
import { configError, cut, isObject, namesOf, RULES } from "./config_values.js";

const OBJECTS = ["rope_parameters", "rope_scaling", "rotary"]; // whose fields are read or refused
const ELSEWHERE = Object.keys(RULES.fields).flatMap((name) => {
  return RULES.fields[name].place === "rotation" ? [] : namesOf(name);
});

/**
 * The paths of all fields whose names speak of a rotation; a file nested too deeply is refused.
 * @type {(config: any) => string[]}
 */
export function keysThatSpeak(config) {
  const says = (/** @type {any} */ value) =>
    value !== null && !(typeof value === "object" && !Object.keys(value).length);
  return [...walk(config)].filter(([path, value]) => speaks(path) && says(value)).map(([path]) => path);
}

/** @type {(path: string) => boolean} */
function speaks(path) {
  const name = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  return name === "scaling_factor" || RULES.words_of_rotation.some((/** @type {string} */ word) => name.includes(word));
}

/** [path, value] of every field at any depth, without recursion. @type {(config: any) => Generator<[string, any]>} */
export function* walk(config) {
  /** @type {[string, number, any][]} */
  const stack = isObject(config) ? [["", 0, config]] : [];
  for (let top = stack.pop(); top; top = stack.pop()) {
    const [path, depth, value] = top;
    if (depth > RULES.deepest) throw configError("too deep", "config", { deepest: RULES.deepest });
    if (path) yield [path, value];
    const inner = Array.isArray(value)
      ? value.filter((each) => each !== null && typeof each === "object").map((each) => [`${path}[]`, each])
      : Object.entries(isObject(value) ? value : {}).map(([key, each]) => [path ? `${path}.${key}` : key, each]);
    for (const [name, each] of inner.reverse()) stack.push([name, depth + 1, each]);
  }
}

/** Remark on the fields that speak of a rotation and were not read. @type {(table: Table, speaking: string[]) => void} */
export function noteUnread({ body, notes, used }, speaking) {
  const read = new Set([...used, ...[...ELSEWHERE, ...OBJECTS].map((name) => body.path(name))]);
  const inside = OBJECTS.map((name) => `${body.path(name)}.`);
  const unread = speaking.filter((path) => !read.has(path) && !inside.some((each) => path.startsWith(each)));
  const shown = unread.slice(0, 6).map((path) => cut(path, 60));
  if (unread.length) notes.add("not read", { fields: shown.join(", ") + (unread.length > 6 ? ", …" : "") });
}
