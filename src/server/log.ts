/**
 * Log lines through pino: JSON, or something pleasant when a person is looking. Always to stderr; stdout is
 * for answers.
 */

import { styleText } from 'node:util'
import { type Logger, pino } from 'pino'
import type { LogLevel } from './config.ts'

export function createLog(level: LogLevel): Logger {
  const stream = process.stderr.isTTY ? { write: (line: string) => process.stderr.write(pretty(line)) } : process.stderr
  // A closed pipe must not end the service.
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
