/**
 * failCommand: makes commands fail on purpose, for the test suites of drivers. Works only if test commands
 * are on (`setParameter: {enableTestCommands: true}`).
 */

import { machine } from '../../base/clock.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { Value } from '../../document/bson/value.ts'
import { CommandError, type ErrorLabel } from '../answers/command-error.ts'
import { type Arguments, numberOf } from '../requests/arguments.ts'

/** Cut the connection instead of answering. */
export class CutConnection extends Error {
  override readonly name = 'CutConnection'
}

interface FailCommand {
  /** How many times it will still fail a command. */
  times: number
  /** How many commands pass before it starts. */
  skip: number
  readonly commands: ReadonlySet<string>
  readonly errorCode: number | undefined
  readonly labels: readonly ErrorLabel[]
  readonly isCut: boolean
  readonly blockMs: number
}

export class FailPoints {
  #failCommand: FailCommand | undefined

  configure(args: Arguments): void {
    const name = args.requiredString('configureFailPoint')
    if (name !== 'failCommand') throw new CommandError('BadValue', `The fail point '${name}' is not known.`)
    const { times, skip } = readMode(args.required('mode'))
    const data = args.within('data')
    this.#failCommand =
      times === 0
        ? undefined
        : {
            times,
            skip,
            commands: new Set(data?.array('failCommands')?.elements.flatMap(textOf)),
            errorCode: data?.number('errorCode'),
            labels: (data?.array('errorLabels')?.elements.flatMap(textOf) ?? []) as ErrorLabel[],
            isCut: data?.flag('closeConnection') ?? false,
            blockMs: data?.flag('blockConnection') === true ? (data.count('blockTimeMS') ?? 0) : 0,
          }
  }

  /** Called before a command runs. */
  strike(command: string): Promise<void> | undefined {
    const point = this.#failCommand
    if (point === undefined || !point.commands.has(command)) return undefined
    if (point.skip > 0) {
      point.skip--
      return undefined
    }
    point.times--
    if (point.times <= 0) this.#failCommand = undefined
    if (point.blockMs === 0) return fail(point)
    return new Promise<void>(resolve => machine.setTimeout(resolve, point.blockMs)).then(() => fail(point))
  }
}

function fail({ isCut, errorCode, labels }: FailCommand): undefined {
  if (isCut) throw new CutConnection('a fail point cut the connection')
  if (errorCode !== undefined) {
    throw new CommandError(errorCode, "Failing command via 'failCommand' failpoint", { labels })
  }
  return undefined
}

function readMode(mode: Value): { readonly times: number; readonly skip: number } {
  if (mode.type === bsonType.string) {
    if (mode.value === 'alwaysOn') return { times: Number.POSITIVE_INFINITY, skip: 0 }
    if (mode.value === 'off') return { times: 0, skip: 0 }
  }
  if (mode.type === bsonType.document) {
    const times = mode.get('times')
    const skip = mode.get('skip')
    if (times !== undefined) return { times: numberOf(times) ?? 0, skip: 0 }
    if (skip !== undefined) return { times: Number.POSITIVE_INFINITY, skip: numberOf(skip) ?? 0 }
  }
  throw new CommandError('BadValue', "'mode' is 'off', 'alwaysOn', {times: n} or {skip: n}")
}

function textOf(value: Value): string[] {
  return value.type === bsonType.string ? [value.value] : []
}
