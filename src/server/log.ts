/**
 * Writes the log with pino: JSON, or coloured lines on a terminal. It goes to stderr, because stdout is for
 * results.
 */

import { styleText } from 'node:util'
import { type Logger, pino } from 'pino'
import type { LogLevel } from './config.ts'

export function createLog(level: LogLevel): Logger {
  const stream = process.stderr.isTTY ? { write: (line: string) => process.stderr.write(pretty(line)) } : process.stderr
  // If stderr is closed, the server must go on.
  process.stderr.on('error', () => {})
  return pino({ level, base: null, serializers: { error: pino.stdSerializers.err } }, stream)
}

const colours = { 50: 'red', 60: 'red', 40: 'yellow', 30: 'green' } as const

function pretty(line: string): string {
  const { level, time, msg, ...rest } = JSON.parse(line)
  const label = pino.levels.labels[level] ?? String(level)
  const colour = colours[level as keyof typeof colours] ?? 'gray'
  const details = Object.keys(rest).length > 0 ? ` ${styleText('gray', JSON.stringify(rest))}` : ''
  return (
    `${styleText('gray', new Date(time).toISOString().slice(11, 19))} ${styleText(colour, label)} ` +
    `${msg}${details}\n`
  )
}
