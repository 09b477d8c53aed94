/**
 * The guest's functions as source text, which is how they get into the sandbox.
 *
 * They are written and type-checked as TypeScript. At run time the types are gone, stripped on load or by
 * the compiler, so a function's own text is plain JavaScript.
 */

import { createCollection } from './collection.ts'
import { defineEnvironment } from './environment.ts'
import { createFunctions } from './functions.ts'
import { createMessage } from './message.ts'
import { defineQueries } from './query-chain.ts'
import { createScript } from './script.ts'
import { describeError } from './thrown-error.ts'

function listed(parts: Record<string, (...args: never[]) => unknown>): string {
  return `{${Object.entries(parts).map(([name, part]) => `${name}: ${part}`)}}`
}

const scriptParts = { defineEnvironment, createMessage, createCollection, defineQueries, describeError }
const functionParts = { defineEnvironment, describeError }

/** Evaluates to `(host, settings) => GuestScript`. */
export const scriptText = `(host, settings) => (${createScript})(host, settings, ${listed(scriptParts)})`

/** Evaluates to `(host, epochMs) => GuestFunctions`. */
export const functionsText = `(host, epochMs) => (${createFunctions})(host, epochMs, ${listed(functionParts)})`
