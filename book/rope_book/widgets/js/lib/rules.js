// Rules between the controls of a figure, as _rules.py declares them and the controls bring them: what one value allows
// of another. Python refuses what breaks a rule; here it is clamped.

const TINY = 1e-9; // two sums of tenths differ by less

const tidy = (/** @type {number} */ value) => Number(value.toPrecision(12));

/** The smallest value that a control allows and that is not below `value`. */
const enough = (/** @type {Control} */ { kind, options }, /** @type {number} */ value) =>
  kind === "choice" ? options.map(([option]) => option).find((option) => option >= value) : value;

// What must change in the state `now`, of which `held` has just been set, for each kind of rule of the control `name`.
/** @type {Record<string, (name: string, rule: ControlRule, now: State, held: State, controls: Controls) => State>} */
const KINDS = {
  at_most(name, { limit, times, plus, either }, now, held, controls) {
    const count = typeof now[limit] === "string" ? now[limit].split(" ").length : now[limit];
    const most = tidy(times * count + plus);
    if (now[name] <= most + TINY) return {};
    if (either && name in held && !(limit in held))
      return { [limit]: enough(controls[limit], tidy((now[name] - plus) / times)) };
    return { [name]: most };
  },

  at_least: (name, { least, where, value }, now) =>
    now[where] === value && now[name] < least ? { [name]: least } : {},

  preset(name, { table, own }, now, held) {
    const values = Object.hasOwn(table, now[name]) ? table[now[name]] : {};
    const differing = Object.entries(values).filter(([other, value]) => now[other] !== value);
    return name in held || !differing.length ? Object.fromEntries(differing) : { [name]: own };
  },

  only_if: () => ({}),
};

/** All rules with the names of their controls. */
const rulesOf = (/** @type {Controls} */ controls) =>
  Object.values(controls).flatMap(({ name, rules = [] }) => rules.map((rule) => ({ name, rule })));

/** What changes once `held` is set in a state. @type {(controls: Controls, before: State, held: State) => State} */
export function settle(controls, before, held) {
  const more = {};
  for (const { name, rule } of rulesOf(controls))
    Object.assign(more, KINDS[rule.rule](name, rule, { ...before, ...held, ...more }, held, controls));
  return more;
}

// What a hand that moves a control wants to see: a control that means nothing now turns another so that it does.
/** @type {(controls: Controls, before: State, held: State) => State} */
export function shown(controls, before, held) {
  const asked = rulesOf(controls).filter(({ name, rule }) => name in held && isIdle(rule, { ...before, ...held }));
  return Object.fromEntries(
    asked.flatMap(({ rule: { where, values } }) => (where in held ? [] : [[where, values[0]]])),
  );
}

/** @type {(rule: ControlRule, state: State) => boolean} */
const isIdle = ({ rule, where, values }, state) => rule === "only_if" && !values.includes(state[where]);

/** The controls that mean something in a state. @type {(controls: Controls, state: State) => string[]} */
export function inUse(controls, state) {
  const idle = rulesOf(controls).filter(({ rule }) => isIdle(rule, state));
  return Object.keys(controls).filter((name) => !idle.some((each) => each.name === name));
}
