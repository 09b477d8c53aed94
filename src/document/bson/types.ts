/** The BSON types: their codes, their names, and their ranks in the order of all values. */

export const bsonType = {
  double: 0x01,
  string: 0x02,
  document: 0x03,
  array: 0x04,
  binary: 0x05,
  undefined: 0x06,
  objectId: 0x07,
  bool: 0x08,
  date: 0x09,
  null: 0x0a,
  regex: 0x0b,
  dbPointer: 0x0c,
  code: 0x0d,
  symbol: 0x0e,
  codeWithScope: 0x0f,
  int32: 0x10,
  timestamp: 0x11,
  int64: 0x12,
  decimal128: 0x13,
  minKey: 0xff,
  maxKey: 0x7f,
} as const

export type BsonType = (typeof bsonType)[keyof typeof bsonType]

/** The names that `$type` uses, in queries and as its result in expressions. */
const aliases: readonly (readonly [alias: string, type: BsonType])[] = [
  ['double', bsonType.double],
  ['string', bsonType.string],
  ['object', bsonType.document],
  ['array', bsonType.array],
  ['binData', bsonType.binary],
  ['undefined', bsonType.undefined],
  ['objectId', bsonType.objectId],
  ['bool', bsonType.bool],
  ['date', bsonType.date],
  ['null', bsonType.null],
  ['regex', bsonType.regex],
  ['dbPointer', bsonType.dbPointer],
  ['javascript', bsonType.code],
  ['symbol', bsonType.symbol],
  ['javascriptWithScope', bsonType.codeWithScope],
  ['int', bsonType.int32],
  ['timestamp', bsonType.timestamp],
  ['long', bsonType.int64],
  ['decimal', bsonType.decimal128],
  ['minKey', bsonType.minKey],
  ['maxKey', bsonType.maxKey],
]

const typeOfAlias = new Map(aliases)
const aliasOfType = new Map(aliases.map(([alias, type]) => [type as number, alias]))

export function typeNamed(alias: string): BsonType | undefined {
  return typeOfAlias.get(alias)
}

/** The alias of a type. All types in valid documents have one. */
export function typeName(type: number): string {
  return aliasOfType.get(type) ?? 'missing'
}

/** The type for a number that a user gives; `minKey` is -1. */
export function typeNumbered(number: number): BsonType | undefined {
  const code = number === -1 ? bsonType.minKey : number
  return number !== bsonType.minKey && aliasOfType.has(code) ? (code as BsonType) : undefined
}

/**
 * Values are ordered by rank first; values of one rank are comparable. A missing value ranks as `undefined`.
 * The numbers are also the first bytes of ordered keys.
 */
export const rank = {
  minKey: 0x08,
  undefined: 0x10,
  null: 0x18,
  number: 0x20,
  string: 0x28,
  document: 0x30,
  array: 0x38,
  binary: 0x40,
  objectId: 0x48,
  bool: 0x50,
  date: 0x58,
  timestamp: 0x60,
  regex: 0x68,
  dbPointer: 0x70,
  code: 0x78,
  codeWithScope: 0x80,
  maxKey: 0xf0,
} as const

const ranks = new Uint8Array(256)
ranks[0] = rank.undefined
for (const [name, type] of Object.entries(bsonType)) ranks[type] = rank[name as keyof typeof rank] ?? 0
for (const type of [bsonType.double, bsonType.int32, bsonType.int64, bsonType.decimal128]) ranks[type] = rank.number
ranks[bsonType.symbol] = rank.string

export function rankOf(type: number): number {
  return ranks[type]!
}

export function isNumberType(type: number): boolean {
  return ranks[type] === rank.number
}
