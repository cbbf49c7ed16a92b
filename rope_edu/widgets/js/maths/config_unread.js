// Fields of a config that speak of a rotation and that nobody reads.
import { walk } from "./config_part.js";
import { Table } from "./config_table.js";
import { configError, namesOf, RULES } from "./config_values.js";

/**
 * The paths of all fields whose names speak of a rotation; a file nested too deeply is refused.
 * @type {(config: any) => string[]}
 */
export function keysThatSpeak(config) {
  const found = [];
  for (const [path, depth, value] of walk(config)) {
    if (depth > RULES.deepest) throw configError("too deep", "config", { deepest: RULES.deepest });
    const name = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
    const speaks =
      name === "scaling_factor" || RULES.words_of_rotation.some((/** @type {string} */ word) => name.includes(word));
    const says = value !== null && !(typeof value === "object" && !Object.keys(value).length);
    if (speaks && says) found.push(path);
  }
  return found;
}

/**
 * Remark on the fields that speak of a rotation and were not read.
 * @type {(table: Table, speaking: string[]) => void}
 */
export function noteUnread({ body, notes, used }, speaking) {
  for (const [name, { place }] of Object.entries(RULES.fields)) {
    if (place !== "rotation") for (const each of namesOf(name)) used.add(body.path(each));
  }
  const objects = ["rope_parameters", "rope_scaling", "rotary"].map((name) => body.path(name));
  const unread = speaking.filter((path) => {
    return !used.has(path) && !objects.some((each) => path === each || path.startsWith(`${each}.`));
  });
  const shown = unread.slice(0, 6).map((path) => [...path.slice(0, 120)].slice(0, 60).join(""));
  if (unread.length) notes.add("not read", { fields: shown.join(", ") + (unread.length > 6 ? ", …" : "") });
}
