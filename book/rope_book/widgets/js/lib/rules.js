// Applies the rules that link a figure's controls, which are declared in _rules.py and sent with the controls. Python
// rejects values that break a rule; JavaScript adjusts them.

const TINY = 1e-9; // larger than the rounding error in a sum of tenths

const tidy = (/** @type {number} */ value) => Number(value.toPrecision(12));

/** The smallest option of a choice that is at least `value`; for other controls, `value` itself. */
const enough = (/** @type {Control} */ { kind, options }, /** @type {number} */ value) =>
  kind === "choice" ? options.map(([option]) => option).find((option) => option >= value) : value;

// One function per kind of rule: returns the changes to the state `now` that a rule on the control `name` requires
// after the values in `held` are set.
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
    const differing = Object.entries(values).filter(([other, value]) => String(now[other]) !== String(value)); // for lists
    return name in held || !differing.length ? Object.fromEntries(differing) : { [name]: own };
  },

  only_if: () => ({}),
};

/** All rules, each with its control's name. */
const rulesOf = (/** @type {Controls} */ controls) =>
  Object.values(controls).flatMap(({ name, rules = [] }) => rules.map((rule) => ({ name, rule })));

/** The additional changes that the rules require after `held` is set in a state. @type {(controls: Controls, before: State, held: State) => State} */
export function settle(controls, before, held) {
  const implied = {};
  for (const { name, rule } of rulesOf(controls))
    Object.assign(implied, KINDS[rule.rule](name, rule, { ...before, ...held, ...implied }, held, controls));
  return implied;
}

// The changes to other controls that allow the controls in `held` to have an effect.
/** @type {(controls: Controls, before: State, held: State) => State} */
export function shown(controls, before, held) {
  const idle = rulesOf(controls).filter(({ name, rule }) => name in held && isIdle(rule, { ...before, ...held }));
  return Object.fromEntries(idle.flatMap(({ rule: { where, values } }) => (where in held ? [] : [[where, values[0]]])));
}

/** @type {(rule: ControlRule, state: State) => boolean} */
const isIdle = ({ rule, where, values }, state) => rule === "only_if" && !values.includes(state[where]);

/** The controls that have an effect in a state. @type {(controls: Controls, state: State) => string[]} */
export function inUse(controls, state) {
  const idle = rulesOf(controls).filter(({ rule }) => isIdle(rule, state));
  return Object.keys(controls).filter((name) => !idle.some((control) => control.name === name));
}

/** The controls that currently have an effect, where a figure's `uses` overrides the rules. @type {(figure: Figure, controls: Controls, now: State) => string[]} */
export function usedBy(figure, controls, now) {
  const used = inUse(controls, now);
  return figure.uses?.(now, used) ?? used;
}
