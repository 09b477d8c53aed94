/**
 * The rules for the documents of a collection: its validator, and how strictly it is applied.
 *
 *   validationLevel    off: nothing is checked. moderate: a document that breaks the rules already may go on
 *                      breaking them. strict, the default: every write is checked.
 *   validationAction   error, the default: the write is refused. warn: it is done and noted in the log.
 */

import { bsonType } from '../../document/bson/types.ts'
import { type BsonDocument, type Field, string, type Value } from '../../document/bson/value.ts'
import { MongoError } from '../../mql/errors/mongo-error.ts'
import { type ConstantsNow, Validator } from '../../mql/validation/validator.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Arguments } from '../requests/arguments.ts'

const levels = ['off', 'strict', 'moderate'] as const
const actions = ['error', 'warn'] as const

export class Validation {
  readonly #validator: Validator
  readonly #isModerate: boolean
  readonly isOnlyWarning: boolean

  private constructor(validator: Validator, isModerate: boolean, isOnlyWarning: boolean) {
    this.#validator = validator
    this.#isModerate = isModerate
    this.isOnlyWarning = isOnlyWarning
  }

  /** Undefined: nothing is checked. */
  static of(options: BsonDocument): Validation | undefined {
    if (options.isEmpty) return undefined
    const validator = options.get('validator')
    const level = textOf(options.get('validationLevel'))
    if (validator?.type !== bsonType.document || validator.isEmpty || level === 'off') return undefined
    const isOnlyWarning = textOf(options.get('validationAction')) === 'warn'
    return new Validation(new Validator(validator), level === 'moderate', isOnlyWarning)
  }

  /**
   * What is wrong with a document that is to be written in place of the one that was there. Undefined: it may
   * be written. `judge` says what is wrong with one document.
   */
  reportOn(
    document: Uint8Array,
    before: Uint8Array | undefined,
    judge: (document: Uint8Array, validator: Validator) => BsonDocument | undefined,
  ): BsonDocument | undefined {
    const report = judge(document, this.#validator)
    if (report === undefined || !this.#isModerate || before === undefined) return report
    return judge(before, this.#validator) === undefined ? report : undefined
  }
}

/** The error for a document that is not allowed. */
export function invalidDocument(errInfo: BsonDocument): CommandError {
  return new CommandError('DocumentValidationFailure', 'Document failed validation', { fields: { errInfo } })
}

function textOf(value: Value | undefined): string | undefined {
  return value?.type === bsonType.string ? value.value : undefined
}

/** Databases whose collections may have no validator. */
const internalDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local'])

/** Reads the options that a command gives, and refuses those that could not work. */
export function readValidationOptions(
  args: Arguments,
  { database, collection }: { readonly database: string; readonly collection: string },
  constantsNow: ConstantsNow,
): Field[] {
  const validator = args.document('validator')
  if (validator !== undefined && !validator.isEmpty) {
    if (internalDatabases.has(database)) {
      throw new CommandError(
        'InvalidOptions',
        `Document validators are not allowed on collection ${database}.${collection} in the ${database} ` +
          'internal database',
      )
    }
    checkValidator(validator, constantsNow)
  }
  const level = choice(args, 'validationLevel', levels)
  const action = choice(args, 'validationAction', actions)
  return [
    ...(validator === undefined ? [] : [['validator', validator] as const]),
    ...(level === undefined ? [] : [['validationLevel', string(level)] as const]),
    ...(action === undefined ? [] : [['validationAction', string(action)] as const]),
  ]
}

function checkValidator(validator: BsonDocument, constantsNow: ConstantsNow): void {
  try {
    new Validator(validator).check(constantsNow)
  } catch (error) {
    if (!(error instanceof MongoError)) throw error
    throw new CommandError(error.code, `Parsing of collection validator failed :: caused by :: ${error.message}`)
  }
}

function choice<Word extends string>(args: Arguments, name: string, words: readonly Word[]): Word | undefined {
  const given = args.string(name)
  const word = words.find(each => each === given)
  if (given === undefined || word !== undefined) return word
  throw new CommandError(
    'BadValue',
    `Enumeration value '${given}' for field '${args.owner}.${name}' is not a valid value.`,
  )
}

/** After a change the level and the action are shown, also if they are the usual ones. */
export function withDefaults(changed: readonly Field[], present: BsonDocument): readonly Field[] {
  if (changed.length === 0) return changed
  const option = (name: string) => changed.find(([each]) => each === name)?.[1] ?? present.get(name)
  return [
    ...changed.filter(([name]) => name === 'validator'),
    ['validationLevel', option('validationLevel') ?? string('strict')],
    ['validationAction', option('validationAction') ?? string('error')],
  ]
}
