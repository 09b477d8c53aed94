/** Errors with MongoDB's own codes and texts. */

import { RequestError, type RequestErrorKind } from '../../base/error.ts'

/** MongoDB's names for the codes used here. Any other code is named `Location` plus its number. */
const names: Readonly<Record<number, string>> = {
  2: 'BadValue',
  9: 'FailedToParse',
  11: 'UserNotFound',
  13: 'Unauthorized',
  14: 'TypeMismatch',
  15: 'Overflow',
  16: 'InvalidLength',
  20: 'IllegalOperation',
  22: 'InvalidBSON',
  26: 'NamespaceNotFound',
  27: 'IndexNotFound',
  28: 'PathNotViable',
  34: 'CannotBackfillArray',
  40: 'ConflictingUpdateOperators',
  48: 'NamespaceExists',
  50: 'MaxTimeMSExpired',
  51: 'ManualInterventionRequired',
  52: 'DollarPrefixedFieldName',
  53: 'InvalidIdField',
  54: 'NotSingleValueField',
  55: 'InvalidDBRef',
  56: 'EmptyFieldName',
  57: 'DottedFieldName',
  61: 'ShardKeyNotFound',
  66: 'ImmutableField',
  67: 'CannotCreateIndex',
  72: 'InvalidOptions',
  73: 'InvalidNamespace',
  85: 'IndexOptionsConflict',
  86: 'IndexKeySpecsConflict',
  111: 'NotExactValueField',
  112: 'WriteConflict',
  115: 'CommandNotSupported',
  121: 'DocumentValidationFailure',
  139: 'JSInterpreterFailure',
  146: 'ExceededMemoryLimit',
  168: 'InvalidPipelineOperator',
  171: 'CannotIndexParallelArrays',
  197: 'InvalidIndexSpecificationOption',
  224: 'QueryFeatureNotAllowed',
  232: 'MaxSubPipelineDepthExceeded',
  238: 'NotImplemented',
  241: 'ConversionFailure',
  291: 'NoQueryExecutionPlans',
  292: 'QueryExceededMemoryLimitNoDiskUseAllowed',
  10334: 'BSONObjectTooLarge',
  11000: 'DuplicateKey',
  13113: 'MergeStageNoMatchingDocument',
}

export class MongoError extends RequestError {
  readonly code: number
  readonly codeName: string

  constructor(code: number, message: string, kind: RequestErrorKind = 'malformed') {
    super(kind, message)
    this.code = code
    this.codeName = names[code] ?? `Location${code}`
  }

  /** The same error, with words before its message. */
  prefixed(words: string): MongoError {
    return new MongoError(this.code, `${words}${this.message}`)
  }
}

export function badValue(message: string): MongoError {
  return new MongoError(2, message)
}

export function failedToParse(message: string): MongoError {
  return new MongoError(9, message)
}

export function typeMismatch(message: string): MongoError {
  return new MongoError(14, message)
}
