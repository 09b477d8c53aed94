/**
 * The guest's functions as texts, which is how they get into the sandbox.
 *
 * They are written, checked and read as TypeScript. Types are gone by the time a function can say what its
 * text is, whether it was stripped when loading or compiled.
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
