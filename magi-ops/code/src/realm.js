// What a snippet finds, and what it does not. Evaluated once in a fresh realm, before the snippet; the value is a
// function of what the host lends, so nothing of that is a global. What the snippet changes later in its own realm
// can't change what was kept here, and the host believes nothing of it anyway.
(function (call, print, names) {
  "use strict";
  const { apply, getPrototypeOf } = Reflect;
  const { create, defineProperty, freeze } = Object;
  const { stringify } = JSON;
  const { from, isArray } = Array;
  const { AggregateError, Error, EvalError, Map, Set, String, TypeError } = globalThis;
  const toWellFormed = String.prototype.toWellFormed;
  const entries = Map.prototype.entries;
  const values = Set.prototype.values;
  const join = Array.prototype.join;
  const toText = Error.prototype.toString;

  // No code from text, by whatever way: `eval` and the constructors of functions.
  const refuse = function () {
    throw new EvalError("code can't be made from text here");
  };
  const kinds = [function () {}, async function () {}, function* () {}, async function* () {}];
  for (let at = 0; at < kinds.length; at++) {
    const prototype = getPrototypeOf(kinds[at]);
    defineProperty(prototype, "constructor", { value: refuse, writable: false, configurable: false });
  }
  defineProperty(refuse, "prototype", { value: Function.prototype, writable: false });
  defineProperty(globalThis, "Function", { value: freeze(refuse), writable: false, configurable: false });
  // Nothing is shared with another thread, and nothing waits for one.
  for (const absent of ["eval", "SharedArrayBuffer", "Atomics"]) delete globalThis[absent];

  const replace = (_key, value) => {
    if (typeof value === "bigint") return `${value}n`;
    if (value instanceof Map) return from(apply(entries, value, []));
    if (value instanceof Set) return from(apply(values, value, []));
    if (value instanceof Error) return apply(toText, value, []);
    return value;
  };
  const show = (value) => {
    if (typeof value === "string") return apply(toWellFormed, value, []);
    const text = value instanceof Error ? told(value, 4) : stringify(value, replace);
    return text === undefined ? String(value) : apply(toWellFormed, text, []);
  };
  // An error with what it came from, a line each: the first reasons of several, and causes so many steps back.
  const told = (error, steps) => {
    let text = apply(toText, error, []);
    if (steps === 0) return text;
    const beneath = (value) => (value instanceof Error ? told(value, steps - 1) : show(value));
    if (error instanceof AggregateError && isArray(error.errors)) {
      const { errors } = error;
      for (let at = 0; at < errors.length && at < 10; at++) text += `\n    ${beneath(errors[at])}`;
      if (errors.length > 10) text += `\n    … ${errors.length - 10} more`;
    }
    return error.cause === undefined ? text : `${text}\n    caused by ${beneath(error.cause)}`;
  };

  const write = (...values) => {
    const shown = [];
    for (let at = 0; at < values.length; at++) {
      let text;
      try {
        text = show(values[at]);
      } catch (why) {
        text = `[can't be shown: ${why instanceof Error ? apply(toText, why, []) : "thrown"}]`;
      }
      defineProperty(shown, at, { value: text });
    }
    print(apply(join, shown, [" "]));
  };
  const console = create(null);
  for (const name of ["debug", "error", "info", "log", "warn"]) defineProperty(console, name, { value: write, enumerable: true });

  const tools = create(null);
  for (let at = 0; at < names.length; at++) {
    const name = names[at];
    const value = async (input = {}) => {
      // Made here, so that its stack tells the line of the call.
      const error = new Error("");
      if (typeof input !== "object" || input === null || isArray(input)) {
        throw new TypeError(`tools.${name} takes one object`);
      }
      return call(name, stringify(input), error);
    };
    defineProperty(tools, name, { value: freeze(value), enumerable: true });
  }
  defineProperty(globalThis, "tools", { value: freeze(tools) });
  defineProperty(globalThis, "console", { value: freeze(console) });
  return show;
});
