/** Ids as people read them: an ObjectId of Mongo without the words of extended JSON around it. */

const objectId = /^\{"\$oid":"([0-9a-f]{24})"\}$/

export function plainId(id: string): string {
  return objectId.exec(id)?.[1] ?? id
}

/** For narrow columns, a long one with its ends: `6917…b104`. */
export function shortId(id: string): string {
  const digits = objectId.exec(id)?.[1]
  return digits ? `${digits.slice(0, 4)}…${digits.slice(-4)}` : id
}
