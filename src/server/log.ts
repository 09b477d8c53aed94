/**
 * Writes the log: a line of JSON for each entry, with the names and numbers of pino, or coloured lines on a
 * terminal. It goes to stderr, because stdout is for results.
 */

import { inspect, styleText } from 'node:util'
import { machine } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { LogLevel } from './config.ts'

const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60, silent: Number.POSITIVE_INFINITY }

export interface LogStream {
  write(text: string): void
  readonly isTTY?: boolean
}

export function createLog(level: LogLevel, stream: LogStream = stderr()): Logger {
  const print = stream.isTTY === true ? coloured : jsonLine
  const writer = (entryLevel: keyof typeof levels) => {
    if (levels[entryLevel] < levels[level]) return () => {}
    return (details: object, message: string) => {
      stream.write(print({ level: entryLevel, timeMs: machine.epochMs(), details: shown(details), message }))
    }
  }
  return { error: writer('error'), warn: writer('warn'), info: writer('info'), debug: writer('debug') }
}

function stderr(): LogStream {
  // If stderr is closed, the server must go on.
  process.stderr.on('error', () => {})
  return process.stderr
}

interface Entry {
  readonly level: keyof typeof levels
  readonly timeMs: number
  readonly details: object
  readonly message: string
}

function jsonLine({ level, timeMs, details, message }: Entry): string {
  return `${json({ level: levels[level], time: timeMs, ...details, msg: message })}\n`
}

const colours = { error: 'red', fatal: 'red', warn: 'yellow', info: 'green', debug: 'gray', trace: 'gray' } as const

function coloured({ level, timeMs, details, message }: Entry): string {
  const colour = colours[level as keyof typeof colours]
  const more = Object.keys(details).length > 0 ? ` ${styleText('gray', json(details))}` : ''
  const time = new Date(timeMs).toISOString().slice(11, 19)
  return `${styleText('gray', time)} ${styleText(colour, level)} ${message}${more}\n`
}

/** A value that JSON cannot hold must not prevent the entry. */
function json(value: object): string {
  try {
    return JSON.stringify(value)
  } catch {
    return JSON.stringify(Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)])))
  }
}

function plain(value: unknown): unknown {
  return typeof value === 'object' || typeof value === 'bigint' ? inspect(value) : value
}

function shown(details: object): object {
  const { error } = details as { readonly error?: unknown }
  return error instanceof Error ? { ...details, error: shownError(error) } : details
}

/** Drivers add properties that say more, such as `code`. */
function shownError(error: Error): object {
  const chain = withCauses(error)
  const { cause: _, ...properties } = { ...error } as { cause?: unknown }
  return {
    type: error.constructor.name,
    message: chain.map(({ message }) => message).join(': '),
    stack: chain.map(each => each.stack ?? String(each)).join('\ncaused by: '),
    ...properties,
  }
}

function withCauses(error: Error): Error[] {
  const chain = [error]
  for (let { cause } = error; cause instanceof Error && !chain.includes(cause); { cause } = cause) chain.push(cause)
  return chain
}
